// Modules of the page in node, which takes a .js file without a package.json for CommonJS.
import {register} from 'node:module';

const hook = `export async function load(url, context, next) {
  return next(url, url.includes('/serve/page/') && url.endsWith('.js') ? {...context, format: 'module'} : context);
}`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);

// page_module('columns.js')
export const page_module = (path) => import(new URL(`../../src/companions/serve/page/${path}`, import.meta.url).href);
