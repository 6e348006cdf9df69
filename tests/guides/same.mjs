// Both languages of every guide have the same commands, and the program understands every command line.
//   node same.mjs TROIKA DOCS_GUIDES
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { commandsOf, readGuide, statements } from './guide.mjs'

const [troika, guides] = process.argv.slice(2).map((name) => path.resolve(name))
const pages = fs.readdirSync(guides).filter((name) => name.endsWith('.md'))
let failures = 0
const complain = (text) => { ++failures; console.log(text) }

function compare(page) {
  const [here, there] = [page, path.join('zh-CN', page)].map((name) => path.join(guides, name))
  if (!fs.existsSync(there)) return complain(`${page}: no Chinese page`)
  const [ours, theirs] = [here, there].map((name) => commandsOf(readGuide(name)).flatMap((block) =>
    [`(${block.info})`, ...statements(block.text)]))
  const at = ours.findIndex((statement, i) => statement !== theirs[i])
  if (at >= 0) complain(`${page}: in English\n  ${ours[at]}\nand in Chinese\n  ${theirs[at]}`)
  else if (ours.length !== theirs.length) complain(`${page}: Chinese has more commands: ${theirs[ours.length]}`)
}

// A troika that looks at its command line alone: settings are resolved (--print-config), other flags are found in the help.
const parser = `#!/bin/bash
real='${troika}'
plain() { for of in "$@"; do "$real" $of --help 2>&1; done | tr _ -; }
known() { # known HELP WORD...: every flag is in the help
  local help=$1 word name
  shift
  for word; do
    name=$(printf '%s' "\${word%%=*}" | tr _ -)
    case $word in --) break ;; --*) grep -qE -e "(^|[ ,])$name([ ,=]|$)" <<< "$help" || said="$said no flag $name;" ;; esac
  done
}
whole="troika $*" said= ranks=1
if [ "$1" = launch ]; then
  [[ $whole =~ --nproc[-_]per[-_]node[=\ ]([0-9]+) ]] && ranks=\${BASH_REMATCH[1]}
  [[ $whole =~ --nnodes[=\ ]([0-9]+) ]] && NNODES=\${BASH_REMATCH[1]}
  export WORLD_SIZE=$((ranks * \${NNODES:-1})) RANK=0 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500
  known "$(plain launch)" "\${@:2}"
  while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
  shift
fi
words=() last= absent=
for word; do # what a command before this one would have made
  case $last in --model.path | --model-path | --model_name_or_path | --lora.path | --deepspeed | --config) [ -e "$word" ] || absent=yes ;; esac
  case $word in *.yaml) [ -e "$word" ] || [[ $last == --* ]] || continue ;; esac
  words+=("$word") last=$word
done
case $1 in
  train) [ -n "$absent" ] && known "$(plain train)" "\${@:2}" || out=$(FORCE_TORCHRUN= "$real" "\${words[@]}" --print-config 2>&1) || said="$said $out" ;;
  "") ;;
  *) "$real" "$1" --help > /dev/null 2>&1 || said="$said no verb $1;"
    known "$(plain "$1" "$1 $2" train)" "\${@:2}" ;;
esac
[ -z "$said" ] || printf '%s\\n  %s\\n' "$said" "$whole" >> "$COMPLAINTS"
`

function parse(page) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'troika-guides-'))
  try {
    fs.mkdirSync(path.join(folder, 'build/release'), { recursive: true })
    fs.mkdirSync(path.join(folder, 'runs'))
    fs.writeFileSync(path.join(folder, 'build/release/troika'), parser, { mode: 0o755 })
    const complaints = path.join(folder, 'complaints')
    const script = commandsOf(readGuide(path.join(guides, page))).filter((block) => !block.options.fails).flatMap((block) =>
      statements(block.text)).filter((text) => /^(export|unset|cat >|mkdir|[A-Z_]+=\S* troika|([\w./]+\/)?troika) ?/.test(text))
    const counted = script.filter((text) => /troika/.test(text)).length
    const done = spawnSync('bash', ['-c', script.join('\n')], { cwd: folder, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8',
      PATH: `${folder}/build/release:${process.env.PATH}`, COMPLAINTS: complaints, OMP_NUM_THREADS: '1', XDG_CONFIG_HOME: folder } })
    if (done.status === 127) complain(`${page}: ${done.stderr}`)
    if (fs.existsSync(complaints)) complain(`${page}: ${fs.readFileSync(complaints, 'utf8')}`)
    return counted
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

let lines = 0
for (const page of pages) {
  compare(page)
  lines += parse(page)
}
if (pages.length === 0 || lines === 0) complain('no guide, or no command')
console.log(`${pages.length} guides, ${lines} command lines, ${failures} complaints`)
process.exit(failures > 0 ? 1 : 0)
