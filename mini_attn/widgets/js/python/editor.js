// The editor of a cell, for the page: CodeMirror with Python, a script that comes at first use.
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

// Tab indents; after Escape it leaves the editor, until the next key that writes.
const leave = [{ key: "Escape", run: (view) => (view.setTabFocusMode(true), true) }];
const indent = [{ key: "Tab", run: (view) => (view.state.selection.ranges.some((range) => !range.empty) ? indentMore(view) : spaces(view)), shift: indentLess }];

function spaces(view) {
  const { from } = view.state.selection.main;
  const column = from - view.state.doc.lineAt(from).from;
  view.dispatch(view.state.update(view.state.replaceSelection(" ".repeat(4 - (column % 4))), { userEvent: "input", scrollIntoView: true }));
  return true;
}

// {text(), write(text), focus(), remove()} of a new editor in `parent`.
function editor(parent, { text, label, describedby, keys = {}, changed = () => {} }) {
  const own = Object.entries(keys).map(([key, run]) => ({ key, run: () => (run(), true), preventDefault: true }));
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(), history(),
        indentUnit.of("    "), EditorState.tabSize.of(4), indentOnInput(), bracketMatching(), pythonLanguage,
        syntaxHighlighting(classHighlighter),
        keymap.of([...own, ...leave, ...indent, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": describedby, tabindex: "0", spellcheck: "false", autocapitalize: "off", autocorrect: "off" }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          view.setTabFocusMode(false);
          changed();
        }),
        EditorView.domEventHandlers({ focus: () => (view.setTabFocusMode(false), false) }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    write: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, userEvent: "input" }),
    focus: () => view.focus(),
    remove: () => view.destroy(),
  };
}

globalThis.livingEditor = editor;
