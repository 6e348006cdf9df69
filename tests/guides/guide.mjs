// Reads guides. A guide is a page of docs/guides whose fenced blocks say what they are in their info string, of which
// readers see nothing:
//   ```sh [on=HOST,...] [fails=CODE] [background] [elsewhere]   commands; run in order, as one script of bash per block
//   ```text [example]                                           what the block of commands before it prints
//   ```console, ```yaml, ...                                    neither run nor compared
// on: on these hosts, at once; fails: ends with that exit code; background: left running until the guide ends;
// elsewhere: needs what a test has not (packages to install, a GPU, a cluster), so that its flags are parsed only.
// example: the numbers or words differ from machine to machine, so that it is not compared.
// A guide with several hosts names them in its first lines: <!-- hosts: pi0=192.168.1.10 pi1=192.168.1.11 rate=10mbit -->
import fs from 'node:fs'

// {hosts: Map(name -> address), rate, blocks: [{line, info, options, text, output: block or null}]}
export function readGuide(path) {
  const lines = fs.readFileSync(path, 'utf8').split('\n')
  const hosts = new Map()
  let rate = '100mbit'
  const said = /^<!-- hosts: (.*) -->$/m.exec(lines.slice(0, 5).join('\n'))
  for (const word of said ? said[1].split(' ') : []) {
    const [name, value] = word.split('=')
    if (name === 'rate') rate = value
    else hosts.set(name, value)
  }
  const blocks = []
  for (let i = 0; i < lines.length; ++i) {
    const open = /^```(.*)$/.exec(lines[i])
    if (!open) continue
    const end = lines.indexOf('```', i + 1)
    if (end < 0) throw new Error(`${path}:${i + 1}: a block without an end`)
    const [language, ...words] = open[1].trim().split(/\s+/)
    const options = Object.fromEntries(words.map((word) => word.split('=')).map(([key, value]) => [key, value ?? true]))
    const block = { line: i + 1, info: open[1].trim(), language, options, text: lines.slice(i + 1, end).join('\n') }
    blocks.push(block)
    i = end
  }
  return { hosts, rate, blocks }
}

export const commandsOf = (guide) => guide.blocks.filter((block) => block.language === 'sh')

// The statements of a block, comments left out: lines that end in '\' and here-documents belong to their first line.
export function statements(text) {
  const result = []
  let end = null
  let open = false
  for (const line of text.split('\n')) {
    if (open) result[result.length - 1] += '\n' + line
    else if (line.trim() !== '' && !line.startsWith('#')) result.push(line)
    else continue
    if (end !== null) {
      if (line === end) end = null
    } else {
      end = /<<-?'?(\w+)'?/.exec(line)?.[1] ?? null
    }
    open = end !== null || line.endsWith('\\')
  }
  return result.map((statement) => statement.replace(/(^|\s)#\s.*$/, '').trimEnd())
}

// Numbers, their units and the width of columns differ from run to run.
const masked = (line) =>
  line
    .replace(/\d[\d.,:]*(e[-+]?\d+)?/g, '#')
    .replace(/# ?(ns|us|ms|s|min|h|[KMGT]?i?B|[KMG])(?![\w])/g, '#')
    .replace(/\s+/g, ' ')
    .trim()

// The first promised line that the output has not behind those before it, or null. '...' at the end of a promised line
// stands for the rest of that line, alone for any lines.
export function missingLine(promised, output) {
  const there = output.split('\n').map(masked)
  let at = 0
  for (const line of promised.split('\n')) {
    if (line.trim() === '' || line.trim() === '...') continue
    const wanted = masked(line.replace(/\s*\.\.\.$/, ''))
    const found = there.findIndex((text, i) => i >= at && (line.endsWith('...') ? text.startsWith(wanted) : text === wanted))
    if (found < 0) return line
    at = found + 1
  }
  return null
}
