// Requests to the server, and its events. The token comes with the address, behind the #, and never leaves this page.

const KEY = 'williwaw-token';

/** Takes the token out of the address, so that it is in no history and no screenshot. */
export function takeToken(): void {
  const found = /^#token=([0-9a-f]{32})/.exec(location.hash);
  if (!found?.[1]) return;
  sessionStorage.setItem(KEY, found[1]);
  history.replaceState(null, '', '#/');
}

function token(): string {
  return sessionStorage.getItem(KEY) ?? '';
}

export class Refused extends Error {
  constructor(readonly status: number, message: string, readonly help: string) {
    super(help ? `${message} — ${help}` : message);
  }
}

async function request(method: string, path: string, body?: BodyInit, type?: string): Promise<Response> {
  let response: Response;
  try {
    const headers: Record<string, string> = { authorization: `Bearer ${token()}` };
    if (type) headers['content-type'] = type;
    response = await fetch(`/api/${path}`, { method, headers, body: body ?? null });
  } catch {
    throw new Refused(0, 'the server does not answer', 'start `williwaw serve` again; this page connects by itself');
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({ error: response.statusText, help: '' }));
  if (response.status === 401) dispatchEvent(new Event('unauthorized'));
  throw new Refused(response.status, said.error, said.help);
}

export async function get<T>(path: string): Promise<T> {
  return (await request('GET', path)).json();
}

export async function blob(path: string): Promise<Blob> {
  return (await request('GET', path)).blob();
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  return (await request('POST', path, JSON.stringify(body), 'application/json')).json();
}

export async function put<T>(path: string, body: unknown): Promise<T> {
  const raw = body instanceof Blob;
  return (await request('PUT', path, raw ? body : JSON.stringify(body), raw ? 'application/octet-stream' : 'application/json')).json();
}

export async function remove(path: string): Promise<void> {
  await request('DELETE', path);
}

export interface SetInfo {
  id: number;
  name: string;
  title: string;
  clock: 'virtual' | 'real';
  repetitions: number;
  cells: number;
  state: 'queued' | 'running' | 'paused' | 'stopped' | 'done' | 'failed';
  message: string;
  created: string;
  ended: string | null;
  done: number;
  total: number;
}

/** The sets, kept current; the connection is made again whenever it breaks. */
export const live = {
  sets: [] as SetInfo[],
  connected: false,
  listeners: new Set<() => void>(),
};

function tell(): void {
  for (const listener of live.listeners) listener();
}

// An EventSource cannot carry the token, so the stream is read here.
export async function listen(): Promise<never> {
  for (;;) {
    try {
      const response = await request('GET', 'events');
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        rest += value;
        const events = rest.split('\n\n');
        rest = events.pop() ?? '';
        for (const event of events) {
          const data = event.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5)).join('\n');
          if (!data) continue;
          live.sets = JSON.parse(data);
          live.connected = true;
          tell();
        }
      }
    } catch (error) {
      if (error instanceof Refused && error.status === 401) await new Promise((wake) => addEventListener('hashchange', wake, { once: true }));
    }
    if (live.connected) {
      live.connected = false;
      tell();
    }
    await new Promise((wake) => setTimeout(wake, 1000));
  }
}
