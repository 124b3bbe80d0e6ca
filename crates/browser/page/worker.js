// Worker of the page: one engine, one request after the other.

let engine;
/** The request in hand: its progress carries the number. */
let id;

function asked(request) {
  const text = new TextEncoder().encode(JSON.stringify(request));
  const at = engine.input(text.length);
  new Uint8Array(engine.memory.buffer, at, text.length).set(text);
  const length = engine.answer();
  // The memory may have grown meanwhile: its buffer is looked up anew.
  const document = JSON.parse(new TextDecoder().decode(new Uint8Array(engine.memory.buffer, engine.document(), length)));
  const bytes = new Uint8Array(engine.memory.buffer, engine.bytes(), engine.bytes_length()).slice();
  return { document, bytes };
}

onmessage = async ({ data }) => {
  if (data.module) {
    const page = { progress: (done, total) => postMessage({ id, done, total }), now: () => performance.now() };
    engine = (await WebAssembly.instantiate(data.module, { page })).exports;
    postMessage({ ready: true });
    return;
  }
  const begun = performance.now();
  id = data.id;
  try {
    const { document, bytes } = asked(data.request);
    postMessage({ id: data.id, document, bytes, seconds: (performance.now() - begun) / 1000 }, [bytes.buffer]);
  } catch (error) {
    // A trap of the engine: its memory is not to be trusted any more. The page makes another worker.
    postMessage({ id: data.id, broken: String(error) });
  }
};
