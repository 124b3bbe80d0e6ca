// The client of a page without a server: the engine as WebAssembly, in workers of the page.
//
// Three script elements of the page hold the compressed engine, the worker's program and the first scenario. One worker
// answers at once whatever the form and the preview ask; the other one runs repetitions, and is ended to stop them.

import { Refused } from './api';
import type { Client, Ran } from './client';

interface Answer { document: { good?: boolean; error?: string; help?: string; diagnostics?: { message: string }[] }; bytes: Uint8Array<ArrayBuffer>; seconds: number }
interface Waiting { yes: (answer: Answer) => void; no: (error: Error) => void; progress?: ((done: number, total: number) => void) | undefined }

const element = (id: string): string => document.getElementById(id)?.textContent ?? '';

async function compiled(): Promise<WebAssembly.Module> {
  const packed = Uint8Array.from(atob(element('engine').trim()), (c) => c.charCodeAt(0));
  const bytes = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    throw new Refused(0, `this browser cannot run the engine: ${String(error)}`, '');
  }
}

/** One worker with one engine: one request after the other. */
class Lane {
  private worker: Worker | null = null;
  private serial = 0;
  private readonly waiting = new Map<number, Waiting>();

  constructor(private readonly module: Promise<WebAssembly.Module>) {}

  async ask(request: object, progress?: Waiting['progress']): Promise<Answer> {
    const module = await this.module;
    const worker = this.worker ??= this.begun(module);
    return new Promise((yes, no) => {
      this.waiting.set(++this.serial, { yes, no, progress });
      worker.postMessage({ id: this.serial, request });
    });
  }

  /** Ends the worker with whatever it computes; the next request makes another one. */
  end(why: Error): void {
    this.worker?.terminate();
    this.worker = null;
    for (const { no } of this.waiting.values()) no(why);
    this.waiting.clear();
  }

  private begun(module: WebAssembly.Module): Worker {
    const address = URL.createObjectURL(new Blob([element('worker')], { type: 'text/javascript' }));
    const worker = new Worker(address);
    worker.onmessage = ({ data }) => {
      if (data.ready) { URL.revokeObjectURL(address); return; }
      const asked = this.waiting.get(data.id);
      if (data.total !== undefined) { asked?.progress?.(data.done, data.total); return; }
      this.waiting.delete(data.id);
      if (data.broken) {
        const why = new Refused(0, `the engine ended: ${data.broken}`, 'this is a fault of williwaw; the page continues with another engine');
        this.end(why);
        asked?.no(why);
      } else asked?.yes(data);
    };
    worker.postMessage({ module });
    return worker;
  }
}

/** What the engine says, or its refusal as an error. */
async function said<T>(answer: Promise<Answer>): Promise<T> {
  const { document } = await answer;
  if (document.error !== undefined) throw new Refused(400, document.error, document.help ?? '');
  return document as T;
}

/** As `said`, for a request that needs a sound scenario. */
async function sound<T>(answer: Promise<Answer>): Promise<T> {
  const { good, diagnostics } = (await answer).document;
  if (good === false && diagnostics?.[0]) throw new Refused(400, `the scenario cannot be run: ${diagnostics[0].message}`, 'correct it; every mistake is marked beside the text');
  return said(answer);
}

/** A run that was ended by its user. */
export class Stopped extends Error {}

export function engine(): Client & { ask: (request: object) => Promise<Answer> } {
  const module = compiled();
  const [quick, long] = [new Lane(module), new Lane(module)];
  return {
    here: {
      async run(text, repetitions, progress) {
        const answer = long.ask({ do: 'run', text, ...(repetitions ? { repetitions } : {}) }, progress);
        const table = await sound<Ran['table']>(answer);
        const { bytes, seconds } = await answer;
        return { table, parquet: bytes, seconds };
      },
      stop: () => long.end(new Stopped('stopped')),
    },
    state: async () => ({ version: '', read_only: false, cores: 1 }),
    schema: () => said(quick.ask({ do: 'schema' })),
    beginnings: async () => ({ ...(await said<Awaited<ReturnType<Client['beginnings']>>>(quick.ask({ do: 'beginnings' }))), first: element('scenario') }),
    saved: async () => [],
    check: (text) => said(quick.ask({ do: 'check', text })),
    edit: async (text, path, change) => (await said<{ text: string }>(quick.ask({ do: 'edit', text, path, change }))).text,
    look: (text, which) => sound(quick.ask({ do: 'look', text, ...which })),
    // For the console, and for programs that drive the page.
    ask: (request) => long.ask(request),
  };
}
