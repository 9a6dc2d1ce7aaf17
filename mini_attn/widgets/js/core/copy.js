// Put words into the clipboard and say so on the button; where there is none, they are shown.
export function copyWords(button, usual, words, complain) {
  const done = () => {
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = usual), 1500);
  };
  const show = () => complain(`To copy: ${words}`);
  navigator.clipboard ? navigator.clipboard.writeText(words).then(done, show) : show();
}
