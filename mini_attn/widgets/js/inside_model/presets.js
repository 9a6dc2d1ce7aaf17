// Texts to begin with, and the head to look at in each.
export const PRESETS = [
  { label: "Who has the ball?", text: "once upon a time there was a girl named lily . lily had a red ball . one day lily went to the park and met tom . lily gave the ball to tom . now", head: "L1H3" },
  { label: "A far fact", text: "once upon a time there was a girl named emma . emma had a red drum . emma put a pink hat under a tree by the river . one day emma went to the garden and met mia . emma gave the drum to mia . jack came too . mia gave the drum to jack . jack gave the drum to mia . mia gave the drum to emma . then emma let mia have the drum . the sun was warm and they talked all day . at last emma went back to the", head: "L1H2" },
  { label: "A repeated block", text: "drum calm the put ring beach lily with map she garden brown drum calm the put ring beach lily with map she garden brown drum calm the put ring", head: "L1H0" },
];
