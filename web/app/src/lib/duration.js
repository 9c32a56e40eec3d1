const plain = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** @param {number} ms */
export function formatDuration(ms) {
  // The server counts whole milliseconds in some places, so 0 means less than one.
  if (ms === 0) return '< 1 ms';
  if (ms < 0.01) return '< 0.01 ms';
  if (ms < 1) return `${Number(ms.toFixed(2))} ms`;
  if (ms < 10) return `${plain.format(ms)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${plain.format(ms / 1_000)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
