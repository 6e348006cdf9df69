// Server-sent events by fetch: EventSource sends no header that says who asks.

function tell(block, event) {
  let name = 'message';
  const data = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) name = line.slice(7);
    if (line.startsWith('data: ')) data.push(line.slice(6));
  }
  if (data.length > 0) event(name, data.join('\n'));
}

// opened(), event(name, data) and, once, ended(), however that comes. Returns what ends it without a word.
export function follow(url, options, { opened, event, ended }) {
  const leaving = new AbortController();
  const still = (act) => { if (!leaving.signal.aborted) act(); };

  function told(block) {
    try {
      tell(block, event);
    } catch (error) {
      reportError(error);  // of the page; the stream goes on
    }
  }

  async function read() {
    const response = await fetch(url, { ...options, signal: leaving.signal });
    if (!response.ok) return;
    still(opened);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (text + value).split('\n\n');
      text = blocks.pop();
      for (const block of blocks) still(() => told(block));
    }
  }

  read().catch(() => {}).finally(() => still(ended));
  return () => leaving.abort();
}
