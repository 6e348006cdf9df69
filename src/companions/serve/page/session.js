// What the server gave this page for the token. It goes along as a header and is kept for this origin, port included; a cookie would go to
// every server of 127.0.0.1.

const name = `troika ${new URL('.', import.meta.url).pathname}`;  // several servers may stand behind one proxy

let held = null;  // where the browser keeps nothing

export function session() {
  try {
    return localStorage.getItem(name) ?? held;
  } catch {
    return held;
  }
}

export function keepSession(text) {
  held = text;
  try {
    localStorage.setItem(name, text);
  } catch {
    // This page alone has it.
  }
}
