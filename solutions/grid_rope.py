"""Half of the planes for the rows and half for the columns, with the same frequencies."""

import numpy as np


def grid_rope(x, rows, columns):
    each = x.shape[1] // 4  # planes of a coordinate
    speeds = 10_000.0 ** (-np.arange(each) / each)
    each = np.outer(rows, speeds), np.outer(columns, speeds)
    angles = np.concatenate(each, axis=1)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[:, 0::2], x[:, 1::2]
    pairs = np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1)
    return pairs.reshape(x.shape)


def _rotate(x, angles):
    cos, sin, (a, b) = np.cos(angles), np.sin(angles), (x[:, 0::2], x[:, 1::2])
    return np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)


REFERENCE = grid_rope


def _speeds(x):
    planes = x.shape[1] // 2
    return 10_000.0 ** (-np.arange(planes) / planes)


def _starter(x, rows, columns):
    raise NotImplementedError


def _by(position):
    """All planes by one number of each cell."""

    def answer(x, rows, columns):
        return _rotate(x, np.outer(position(rows, columns), _speeds(x)))

    return answer


def _twice(x, rows, columns):
    return _by(lambda r, c: c)(_by(lambda r, c: r)(x, rows, columns), rows, columns)


def _cut_in_two(x, rows, columns):
    speeds, half = _speeds(x), x.shape[1] // 4
    angles = [np.outer(rows, speeds[:half]), np.outer(columns, speeds[half:])]
    return _rotate(x, np.concatenate(angles, axis=1))


def _slow_rows(x, rows, columns):
    return _cut_in_two(x, columns, rows)


def _one_speed(x, rows, columns):
    half = x.shape[1] // 4
    return _rotate(x, np.concatenate([np.tile(p[:, None], half) for p in (rows, columns)], axis=1))


def _fast_columns(x, rows, columns):
    each = x.shape[1] // 4
    speeds = 10_000.0 ** (-np.arange(each) / each)
    angles = [np.outer(rows, speeds), np.tile(columns[:, None], each)]
    return _rotate(x, np.concatenate(angles, axis=1))


def _halves(x, rows, columns):
    half = x.shape[1] // 2
    woven = np.arange(x.shape[1]).reshape(2, half).T.ravel()
    back = np.argsort(woven)
    return grid_rope(x[:, woven], rows, columns)[:, back]


def _from_the_first(x, rows, columns):
    return grid_rope(x, rows - rows.min(), columns - columns.min())


def _from_one(x, rows, columns):
    return grid_rope(x, rows + 1, columns + 1)


def _adds(x, rows, columns):
    return x + np.cos(rows)[:, None]


def _unfinished(x, rows, columns):
    each = x.shape[1] // 4
    out = grid_rope(x, rows, columns)
    out[:, 2 * each :] = x[:, 2 * each :]
    return out


def _not_linear(x, rows, columns):
    return grid_rope(x, rows**2, columns)


def _not_a_plane(x, rows, columns):
    return np.where(rows[:, None] > 0, x[:, ::-1] + 0.0, x)


def _overwritten(x, rows, columns):
    each = x.shape[1] // 4
    speeds = 10_000.0 ** (-np.arange(each) / each)
    angles = np.concatenate([np.outer(rows, speeds), np.outer(columns, speeds)], axis=1)
    out = x.copy()
    out[:, 0::2] = x[:, 0::2] * np.cos(angles) - x[:, 1::2] * np.sin(angles)
    out[:, 1::2] = out[:, 0::2] * np.sin(angles) + x[:, 1::2] * np.cos(angles)
    return out


def _list(x, rows, columns):
    return grid_rope(x, rows, columns).tolist()


def _growing(x, rows, columns):
    each = x.shape[1] // 4
    speeds = 2.0 ** np.arange(each)
    angles = np.concatenate([np.outer(rows, speeds), np.outer(columns, speeds)], axis=1)
    return _rotate(x, angles)


def _in_ratio(times, faster=1.0):
    """All planes by the row and so many times the column."""
    return _by(lambda r, c: faster * (r + times * c))


def _slowest_apart(x, rows, columns):
    """The sum in all planes but the slowest, which has the difference."""
    angles = np.outer(rows + columns, _speeds(x))
    angles[:, -1] = (rows - columns) * _speeds(x)[-1]
    return _rotate(x, angles)


RATIOS = {
    1.5: "3 rows down are undone by 2 columns to the left",
    2 / 3: "2 rows down are undone by 3 columns to the left",
    0.75: "3 rows down are undone by 4 columns to the left",
    1.1: "11 rows down are undone by 10 columns to the left",
    1.25: "5 rows down are undone by 4 columns to the left",
    2.5: "5 rows down are undone by 2 columns to the left",
    7 / 3: "7 rows down are undone by 3 columns to the left",
    2**0.5: "nearly undone",
    -1.5: "3 rows down are undone by 2 columns to the right",
    -2.0: "2 rows up",
    -3.0: "3 rows up",
    -5.0: "5 rows up",
    -0.5: "2 columns to the left",
}  # in a row for each column


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("as it was", lambda x, rows, columns: x.copy(), "by hand", "nothing rotates"),
    ("the sum", _by(lambda r, c: r + c), "by hand", "equal frequencies in every plane"),
    ("rotated twice", _twice, "by hand", "equal frequencies in every plane"),
    ("the difference", _by(lambda r, c: r - c), "by hand", "opposite frequencies in every plane"),
    (
        "reading order",
        _by(lambda r, c: r * (c.max() + 1) + c),
        "by hand",
        "the two coordinates as one",
    ),
    (
        "reading order, 1,000 wide",
        _by(lambda r, c: 1000 * r + c),
        "by hand",
        "the two coordinates as one",
    ),
    ("column by column", _by(lambda r, c: r + 64 * c), "by hand", "the two coordinates as one"),
    *(
        (f"row + {times:.3g} columns", _in_ratio(times), "by hand", words)
        for times, words in RATIOS.items()
    ),
    ("3.5 columns, gone round", _in_ratio(3.5), "by hand", "7 rows down are undone by 2"),
    ("1000.5 rows", _in_ratio(1 / 1000.5, 1000.5), "by hand", "2 rows down are undone by"),
    ("4 rows + 6 columns", _in_ratio(1.5, 4.0), "by hand", "3 rows down are undone"),
    ("the slowest apart", _slowest_apart, "by hand", "nearly undone by one column"),
    ("rows only", _by(lambda r, c: r), "by hand", "From column to column, nothing"),
    ("columns only", _by(lambda r, c: c), "by hand", "From row to row, nothing"),
    ("half of it", _unfinished, "by hand", "From column to column, nothing"),
    ("the product", _by(lambda r, c: r * c), "by hand", "Equal moves"),
    ("the distance", _by(np.hypot), "by hand", "Equal moves"),
    ("the list cut in two", _cut_in_two, "by hand", "neighboring columns look alike"),
    ("slow rows", _slow_rows, "by hand", "neighboring rows look alike"),
    ("one speed", _one_speed, "by hand", "has to be slower"),
    ("columns at one speed", _fast_columns, "by hand", "with the columns completes a rotation"),
    ("growing speeds", _growing, "by hand", "has to be slower"),
    ("halves", _halves, "by hand", "neighbors make a plane"),
    ("from the first token", _from_the_first, "random", "Count from the first row"),
    ("counted from 1", _from_one, "by hand", "Leave it alone"),
    ("squares", _not_linear, "by hand", "Equal moves"),
    ("added", _adds, "by hand", "Your lengths change"),
    ("overwritten", _overwritten, "by hand", "Your lengths change"),
    ("backwards", _not_a_plane, "by hand", "mix values of different planes"),
    ("a list", _list, "type", "NumPy array"),
]
