"""Another unit is another temperature."""

MODEL = """
A softmax sees only differences of scores. Two goods that were one star apart had weights in the
ratio e to the 1, about 2.7. After the change they are ten points apart, and the ratio is e to the
10, about 22,000. Every ratio was raised to its tenth power, so the best rating takes nearly
everything.

Adding 10 to all ratings would have changed nothing: the factor e to the 10 stands above and below
the line and cancels.

Times ten is a temperature of one tenth. So divide by 10 again, or, to be rid of the unit for good,
divide the ratings by their standard deviation before the softmax. Its price: the choice is then
equally decided for every list. Goods that are all nearly the same are pulled apart as far as goods
that really differ, and one extreme rating changes the weights of all others.
"""

SAMPLES = [
    (
        "earns all",
        """
The softmax only looks at differences. A one-star lead used to mean 2.7 times as much space on the
page. Now the same lead is 10 points and means e^10, so over twenty thousand times as much, and the
top item wins almost always. If you had added 10 to each rating nothing would have happened, since
e^10 cancels out of the fraction. I would divide by the largest minus the smallest rating of the
list. Then it does not matter in what unit you count. But two goods with 4.9 and 5.0 are then
treated as if they were the worst and the best there are.
""",
        (2, 1, 2),
    ),
    (
        "earns a part",
        """
The numbers are ten times bigger, so the exponential explodes and the biggest one wins. Adding 10
would make it a bit worse, because e^15 is bigger than e^5, but not as bad. I would divide all
ratings by 10. The cost is that somebody has to remember to do it, and it breaks with the next unit.
""",
        (1, 0, 2),
    ),
]
