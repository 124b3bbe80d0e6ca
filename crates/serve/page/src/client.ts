// What the page asks for, whoever answers: the server of `williwaw serve`, or the engine in a worker of the page itself.

import type { Film } from './film';
import type { Change, Json, Mistake, Schema, Step } from './form';
import type { WindowCurve } from './picture';
import { engine } from './engine';
import { server } from './server';

export interface State { version: string; read_only: boolean; cores: number }

export interface Checked {
  good: boolean;
  tree: Json;
  diagnostics: Mistake[];
  title?: string;
  describe?: string;
  commands?: { name: string; node: string; run: string; serves: boolean }[];
  confirmed?: boolean;
  real?: string | null;
  ask?: boolean;
  flows?: string[];
  cost?: { cells: number; repetitions: number; runs: number; simulated_s: number; packets: number; events_per_run: number; seconds: number; limit_s: number };
}

interface Beginning { name: string; about: string; text: string }

/** Texts to begin with; `first` is what a page without a server begins with. */
export interface Beginnings { first?: string; starter: string; empty: string; presets: Beginning[]; published: Beginning[] }

/** Cell of the grid, repetition, flow; from 0. */
export interface Which { cell: number; rep: number; flow: number }

export interface Looked { html: string; segment: number; window: WindowCurve; film: Film }

interface Metric { mean: number | null; ci95: [number, number] | null; median: number | null; p10: number | null; p90: number | null; n: number }

/** The document of `williwaw run --json`, with the unit of each metric. */
export interface Table { cells: { params: Record<string, unknown>; reps: number; metrics: Record<string, Metric>; flows: Record<string, Record<string, Metric>> }[]; columns: { name: string; unit: string }[] }

/** Every repetition of a scenario: its table, the same as CSV and Parquet, and the seconds it took. */
export interface Ran { table: Table & { seed: number; repetitions: number; csv: string }; parquet: Uint8Array<ArrayBuffer>; seconds: number }

/** Runs in the page itself. */
export interface Runs {
  run(text: string, repetitions: number | undefined, progress: (done: number, total: number) => void): Promise<Ran>;
  /** Ends the run in hand: its promise is rejected. */
  stop(): void;
}

export interface Client {
  /** Runs in the page itself, where no server queues them. */
  readonly here: Runs | null;
  state(): Promise<State>;
  schema(): Promise<Schema>;
  beginnings(): Promise<Beginnings>;
  /** Names of the saved scenarios. */
  saved(): Promise<string[]>;
  check(text: string): Promise<Checked>;
  edit(text: string, path: Step[], change: Change): Promise<string>;
  look(text: string, which: Which): Promise<Looked>;
}

/** Shown beside everything that is disabled without a server. */
export const ALONE = 'This page has no server: queued sets, real time, commands, captures and saved scenarios need `williwaw serve`.';

/** A text for an attribute, which cannot hold code elements. */
export const unquoted = (text: string): string => text.replaceAll('`', '');

/** A page that carries the engine needs no server. */
export const client: Client = document.getElementById('engine') ? engine() : server;
