// A classic script in the head, so that a chosen theme is there before anything is painted.
(() => {
  const chosen = localStorage.getItem('svc.theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
})();
