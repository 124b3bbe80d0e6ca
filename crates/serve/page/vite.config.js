// The page as three files without a hash in their names: the server embeds them.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

// The pictures of reports and of this page are drawn by one program: the parts that `report` puts into its pages.
const PARTS = ['tools', 'draw', 'hover', 'input', 'start'];
const pictures = {
  name: 'report-pictures',
  resolveId: (id) => (id === 'virtual:pictures' ? '\0pictures' : null),
  load(id) {
    if (id !== '\0pictures') return null;
    const read = (name) => readFileSync(fileURLToPath(new URL(`../../report/assets/${name}.js`, import.meta.url)), 'utf8');
    return PARTS.map(read).join('\n') + '\nexport { start, shared };\n';
  },
};

export default defineConfig({
  base: './',
  plugins: [pictures],
  build: {
    target: 'es2022',
    outDir: 'dist',
    emptyOutDir: true,
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: 'app.js',
        assetFileNames: (asset) => (asset.names?.some((name) => name.endsWith('.css')) ? 'app.css' : '[name][extname]'),
        codeSplitting: false,
      },
    },
  },
});
