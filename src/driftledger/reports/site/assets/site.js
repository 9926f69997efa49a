/* What a page does beyond showing: every page reads whole without it. */
(() => {
  "use strict";
})();
