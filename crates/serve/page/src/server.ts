// The client of `williwaw serve`.

import { get, post } from './api';
import type { Client } from './client';

export const server: Client = {
  here: null,
  state: () => get('state'),
  schema: () => get('schema'),
  beginnings: () => get('beginnings'),
  saved: () => get('scenarios'),
  check: (text) => post('check', { name: '', text }),
  edit: async (text, path, change) => (await post<{ text: string }>('edit', { text, path, change })).text,
  look: (text, which) => post('look', { text, ...which }),
};
