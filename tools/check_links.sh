#!/bin/sh
# Checks the links between the pages: every relative link in a *.md file names a file or folder that is there, and its part
# behind '#' a heading of that page (as GitHub makes anchors of headings). Links to other sites are not followed.
# Prints each broken link as file:line and exits 1 if there is one.
#
#   tools/check_links.sh [FOLDER]    default: the folder above this script's
#   tools/check_links.sh --self-test proves on small trees that every rule can fail
set -eu

check() {
  root=$1
  list=$(cd "$root" && find . -name '*.md' -type f ! -path './build/*' ! -path './runs/*' ! -path '*/node_modules/*' ! -path './.git/*' |
    LC_ALL=C sort)
  if [ -z "$list" ]; then
    echo "check_links: no .md file under '$root'" >&2
    return 2
  fi
  # Two passes of one program: the headings of all pages, then the links. C locale: anchors keep bytes above ASCII.
  (cd "$root" && printf '%s\n' "$list" | LC_ALL=C awk "$rules") > "$work/links" || return 2
  broken=0
  while IFS='	' read -r place kind target detail; do
    case $kind in
      path) [ -e "$root/$target" ] && continue ; echo "$place: no file or folder '$target'" ;;
      anchor) echo "$place: '$target' has no heading for '#$detail'" ;;
    esac
    broken=$((broken + 1))
  done < "$work/links"
  files=$(printf '%s\n' "$list" | wc -l)
  if [ "$broken" -gt 0 ]; then
    echo "check_links: $broken broken links in $files files"
    return 1
  fi
  echo "check_links: $files files, $(wc -l < "$work/links") links, none broken"
}

# Reads file names; prints "place path target" for every relative link and "place anchor page anchor" for a missing heading.
rules='
function anchor_of(heading,    text, base) {
  text = heading
  sub(/^#+[ \t]+/, "", text)
  sub(/[ \t]+$/, "", text)
  gsub(/\]\([^)]*\)/, "", text)
  text = tolower(text)
  gsub(/[][`*!"#$%&\047()+,.\/:;<=>?@\\^{|}~]/, "", text)
  gsub(/\343\200[\201\202]|\357\274[\201\210\211\214\232\233\237]|\342\200[\234\235]/, "", text)  # punctuation of Chinese, UTF-8
  gsub(/ /, "-", text)
  return text
}
function resolve(from, to,    n, i, part, out, depth) {
  if (from ~ /\//) sub(/[^\/]*$/, "", from); else from = ""
  n = split(from to, part, "/")
  depth = 0
  for (i = 1; i <= n; ++i) {
    if (part[i] == "" || part[i] == ".") continue
    if (part[i] == "..") { if (depth > 0) --depth; else return "../" to; continue }
    out_part[++depth] = part[i]
  }
  out = ""
  for (i = 1; i <= depth; ++i) out = out (i > 1 ? "/" : "") out_part[i]
  return out == "" ? "." : out
}
{
  sub(/^\.\//, "")
  pages[++count] = $0
  fenced = 0
  while ((getline text < $0) > 0) {
    if (text ~ /^[ \t]*```/) fenced = !fenced
    if (!fenced && text ~ /^#+ /) {
      name = anchor_of(text)
      copies = seen[$0, name]++
      headings[$0, copies > 0 ? name "-" copies : name] = 1
    }
  }
  close($0)
}
END {
  for (p = 1; p <= count; ++p) {
    page = pages[p]
    line = fenced = 0
    while ((getline text < page) > 0) {
      ++line
      if (text ~ /^[ \t]*```/) { fenced = !fenced; continue }
      if (fenced) continue
      gsub(/`[^`]*`/, "", text)
      while (match(text, /\]\([^)]*\)/)) {
        link = substr(text, RSTART + 2, RLENGTH - 3)
        text = substr(text, RSTART + RLENGTH)
        if (link ~ /^[a-z]+:/) continue
        hash = index(link, "#")
        path = hash > 0 ? substr(link, 1, hash - 1) : link
        anchor = hash > 0 ? substr(link, hash + 1) : ""
        target = path == "" ? page : resolve(page, path)
        printf "%s:%d\tpath\t%s\t-\n", page, line, target
        if (anchor != "" && target ~ /\.md$/ && !((target, anchor) in headings))
          printf "%s:%d\tanchor\t%s\t%s\n", page, line, target, anchor
      }
    }
    close(page)
  }
}
'

self_test() {
  failures=0
  # expect STATUS WORDS TEXT: README.md holds TEXT beside docs/page.md; WORDS must appear in the output.
  expect() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/docs"
    printf '# A page\n\n## Two words, `code`\n\n## 数据、分词器\n' > "$work/tree/docs/page.md"
    printf '%b\n' "$3" > "$work/tree/README.md"
    got=0
    output=$(check "$work/tree" 2>&1) || got=$?
    case $output in
      *"$2"*) ;;
      *) got="$got, without the words '$2'" ;;
    esac
    if [ "$got" != "$1" ]; then
      failures=$((failures + 1))
      printf 'self-test: %s: expected exit %s, got %s\n%s\n' "$3" "$1" "$got" "$output"
    fi
  }
  expect 0 '2 files, 1 links, none broken' '[a](docs/page.md)'
  expect 0 'none broken' '[a](docs/page.md#two-words-code) and [b](docs/), [c](https://example.org/none.md)'
  expect 0 'none broken' '[a](docs/page.md#数据分词器)'
  expect 0 '0 links' '```\n[a](none.md)\n```\nand `[a](none.md)`'
  expect 1 "README.md:2: no file or folder 'docs/none.md'" 'x\n[a](docs/none.md)'
  expect 1 "'docs/page.md' has no heading for '#three-words'" '[a](docs/page.md#three-words)'
  expect 1 "'README.md' has no heading for '#here'" '[a](#here)'
  expect 1 '2 broken links in 2 files' '[a](x.md) [b](y.md)'
  rm -rf "$work/tree" && mkdir "$work/tree"
  if check "$work/tree" 2> "$work/none" || ! grep -q 'no .md file' "$work/none"; then
    failures=$((failures + 1))
    echo "self-test: a folder without pages is accepted"
  fi
  if [ "$failures" -gt 0 ]; then
    echo "check_links: self-test failed $failures times"
    exit 1
  fi
  echo "check_links: self-test passed"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case ${1:-} in
  --self-test) self_test ;;
  -*)
    echo "usage: check_links.sh [FOLDER | --self-test]" >&2
    exit 2
    ;;
  *) check "${1:-$(cd "$(dirname "$0")/.." && pwd)}" ;;
esac
