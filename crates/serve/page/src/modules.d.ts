declare module '*.css';
declare module 'virtual:pictures' {
  /** Brings a picture's figure to life. */
  export function start(figure: Element): void;
}
