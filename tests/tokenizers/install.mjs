// node install.mjs WORK_FOLDER: the packages of package-lock.json, installed once into a work folder. One process at a time may
// install into a folder: tests do it by the fixture node_packages.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));

export function install(work) {
  fs.mkdirSync(work, {recursive: true});
  const lock = fs.readFileSync(path.join(here, 'package-lock.json'), 'utf8'), stamp = path.join(work, 'installed');
  const there = fs.existsSync(stamp) ? fs.readFileSync(stamp, 'utf8') : '';
  if (there === lock) return;
  for (const name of ['package.json', 'package-lock.json']) fs.copyFileSync(path.join(here, name), path.join(work, name));
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {cwd: work, stdio: 'inherit'});
  fs.writeFileSync(stamp, lock);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) install(path.resolve(process.argv[2]));
