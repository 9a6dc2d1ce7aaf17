# `make help` lists the targets. Everything is installed into .venv, .venv-lite and .venv-grading,
# downloads are kept in .cache.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
HTML := _build/html
PORT ?= 8000
SHEET_OF := $(if $(CH),--chapter '$(CH)') $(if $(EX),--exercises '$(EX)') $(if $(NAME),--name '$(NAME)') $(if $(POINTS),--points '$(POINTS)') $(if $(OUT),--out '$(OUT)')
TERM_OF := $(if $(DUE),--due '$(DUE)') $(if $(LATE),--late '$(LATE)') $(if $(TIMES),--times '$(TIMES)') $(if $(EXTENSIONS),--extensions '$(EXTENSIONS)') $(if $(ATTEMPTS),--attempts '$(ATTEMPTS)') $(if $(AGAIN),--again '$(AGAIN)') $(if $(filter-out 0,$(ANONYMOUS)),--anonymous)
OWN := $(if $(ROSTER),--roster '$(ROSTER)') $(if $(DRAW),--draw '$(DRAW)')
PART := $(if $(filter-out 0,$(PARTIAL)),--partial)
export TORCH

.PHONY: help book serve pdf lab check test test-all soak release handout grade totals lms export class nbgrader otter graders hub public bench train after bytes fewer keys gpu table links chapters mutate bundle docstrings format clean
help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): requirements.txt pyproject.toml tools/setup.py
	@$(PYTHON) -m tools.setup
	@touch $@

book: $(READY)  ## build the book with its browser notebooks into _build/html
	@$(BIN)/python -m tools.build
	@echo "[book] open $(HTML)/index.html, or run \`make serve\` (the browser notebooks need it)"

serve:  ## serve the built book on http://localhost:8000 (PORT=…)
	@test -e $(HTML)/index.html || $(MAKE) book
	@echo "[serve] http://localhost:$(PORT)/ (Ctrl-C ends it)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(HTML) $(PORT)

pdf: book  ## print the built book: every chapter and the whole as PDF, into _build/pdf
	@$(BIN)/python -m tools.browser --install
	@$(BIN)/python -m tools.pdf

lab: $(READY)  ## open the chapters as notebooks in JupyterLab
	@$(BIN)/jupyter lab book/

check: $(READY)  ## what to run while working: style, types, fast units (no book, no browser)
	@$(BIN)/python -m tools.test check

test: book  ## every kind of promise: style, types, units, notebooks, the built book in a real browser
	@$(BIN)/python -m tools.test test

test-all: book  ## what make test leaves out: every case that one of its samples stands for
	@$(BIN)/python -m tools.test test-all

soak: book  ## what repeats: every exercise by keyboard, random cases by the thousand, every fault (hours)
	@$(BIN)/python -m tools.test soak

release: $(READY)  ## what students get, without solutions, into _build/release (CH=page, or EX="id id" NAME=week1; POINTS="id=6", PARTIAL=1; ROSTER= DRAW=)
	@$(BIN)/python -m classroom.sheets.release $(SHEET_OF) $(PART) $(OWN)

handout: $(READY)  ## pencil exercises to print and, apart, their keys, into _build/handout (CH=, or EX= NAME=; POINTS=, ROSTER= DRAW=)
	@$(BIN)/python -m tools.browser --install >/dev/null
	@$(BIN)/python -m tools.handout $(SHEET_OF) $(OWN)

grade: $(READY)  ## grade a folder of notebooks: DIR=submissions/ (OUT=, SHEET=week1.json, CH=, EX=, ROSTER=, DRAW=, SEED=, PARTIAL=1, DUE=, LATE=, TIMES=, EXTENSIONS=, ATTEMPTS=, AGAIN=, ANONYMOUS=1)
	@test -n '$(DIR)' || { echo "[grade] say where the submissions are: make grade DIR=submissions/" >&2; exit 2; }
	@$(BIN)/python -m classroom.grading.grade '$(DIR)' $(SHEET_OF) $(if $(SHEET),--sheet '$(SHEET)') $(OWN) $(if $(SEED),--seed '$(SEED)') $(PART) $(TERM_OF)

totals: $(READY)  ## one grade from several sheets: DIR="grades/week1 grades/week2" (OUT=, WEIGHTS="week1=2", BEST=n, OF=100, MISSING=excused, EXCUSED=table.csv)
	@test -n '$(DIR)' || { echo '[totals] make totals DIR="grades/week1 grades/week2"' >&2; exit 2; }
	@$(BIN)/python -m classroom.grading.totals $(DIR) $(if $(OUT),--out '$(OUT)') $(if $(WEIGHTS),--weights '$(WEIGHTS)') $(if $(BEST),--best '$(BEST)') $(if $(OF),--of '$(OF)') $(if $(MISSING),--missing '$(MISSING)') $(if $(EXCUSED),--excused '$(EXCUSED)')

lms: $(READY)  ## grades into a Moodle, Canvas or Blackboard export: DIR=grades/week1 FROM=export.csv (COLUMN=, SCALE=1, OUT=)
	@test -n '$(DIR)' -a -n '$(FROM)' || { echo "[lms] make lms DIR=grades/week1 FROM=export.csv" >&2; exit 2; }
	@$(BIN)/python -m classroom.adapters.lms '$(DIR)' '$(FROM)' $(if $(COLUMN),--column '$(COLUMN)') $(if $(SCALE),--scale) $(if $(OUT),--out '$(OUT)')

export: $(READY)  ## chapters for learning platforms: TO=moodle, qti or scorm (CH=, or EX= NAME=; OUT=, FORM=choice, ALIVE=1)
	@test -n '$(TO)' || { echo "[export] say in which format: make export TO=moodle, TO=qti or TO=scorm" >&2; exit 2; }
	@$(BIN)/python -m classroom.adapters.export '$(TO)' $(SHEET_OF) $(if $(FORM),--form '$(FORM)') $(if $(filter-out 0,$(ALIVE)),--python)

class: $(READY)  ## a simulated class of 200: handed in, graded, killed twice, resumed, compared (N=students)
	@$(if $(OUT),,rm -rf _build/class)
	@$(BIN)/python -m tests.classroom.simulate --students $(or $(N),200) --seed 1 --grade --out '$(or $(OUT),_build/class)'

nbgrader: $(READY)  ## assignments for nbgrader, into _build/nbgrader (CH=, or EX= NAME=; POINTS=, OUT=)
	@$(BIN)/python -m classroom.adapters.nbgrader $(SHEET_OF)

otter: $(READY)  ## assignments for otter-grader, into _build/otter (CH=, or EX= NAME=; POINTS=, OUT=)
	@$(BIN)/python -m classroom.adapters.otter $(SHEET_OF)

graders: $(READY)  ## install nbgrader and otter-grader into .venv-grading
	@$(BIN)/python -m classroom.adapters.graders

hub: $(READY)  ## a JupyterHub for a class, into _build/hub (OUT=folder); after make release
	@$(BIN)/python -m classroom.adapters.hub $(if $(OUT),--out '$(OUT)')

public: $(READY)  ## a copy of the repository without assessed solutions, into OUT=folder
	@test -n '$(OUT)' || { echo "[public] say where the copy goes: make public OUT=folder" >&2; exit 2; }
	@$(BIN)/python -m classroom.sheets.public '$(OUT)'

bench: book  ## measure beside the peers; STORE=1 writes benchmarks/results and the stored record
	@$(BIN)/python -m benchmarks.run $(if $(STORE),--store)

train: $(READY)  ## train the small family into training/results (MEMBER= SEED= TOKENS= LAYERS= WIDTH=; 4 to 8 min each on an idle core, 4 to 73 on busy machines)
	@$(BIN)/python -m training.run $(MEMBER) $(if $(SEED),--seed $(SEED)) $(if $(TOKENS),--tokens $(TOKENS)) $(if $(LAYERS),--layers $(LAYERS)) $(if $(WIDTH),--width $(WIDTH))

after: $(READY)  ## train the first member on with pooled heads and on longer rows, into training/results (10 min)
	@$(BIN)/python -m training.after

bytes: $(READY)  ## measure what each way of keeping the cache costs the trained family, into training/results (ROWS=)
	@$(BIN)/python -m training.equal_bytes $(if $(ROWS),--rows $(ROWS))

fewer: $(READY)  ## measure what fewer bits a weight and fewer weights cost the trained family, into training/results (ROWS=; 15 min)
	@$(BIN)/python -m training.fewer $(if $(ROWS),--rows $(ROWS))

keys: $(READY)  ## measure what a budget of keys in the cache costs the trained family, into training/results (ROWS=; 15 min)
	@$(BIN)/python -m training.keys $(if $(ROWS),--rows $(ROWS))

gpu: $(READY)  ## test and measure on this machine's NVIDIA GPU within 9 minutes, into benchmarks/results
	@$(BIN)/python -m benchmarks.on_gpu

table: $(READY)  ## print the largest differences between what must be equal, per type and backend
	@$(BIN)/python -m benchmarks.equivalences $(if $(STORE),--store)

links: book  ## ask every address outside the book whether it still answers (needs a network)
	@$(BIN)/python -m tools.links

chapters: book  ## print what each chapter holds, how long it runs and what it weighs
	@$(BIN)/python -m tools.chapters

mutate: $(READY)  ## put single faults into copies of the package and ask the tests (long; STORE=1 keeps the result)
	@$(BIN)/python -m tests.mutation.run $(if $(STORE),--store)

bundle: $(READY)  ## rebuild the widgets' JavaScript bundles and pictures (for contributors)
	@$(BIN)/python -m tools.bundle

docstrings: $(READY)  ## make the PyTorch side's docstrings from NumPy's (for contributors)
	@$(BIN)/python -m tools.docstrings

format: $(READY)  ## let ruff sort, fix and format the code
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

clean:  ## remove what was built; environments and downloads stay
	@rm -rf _build dist
