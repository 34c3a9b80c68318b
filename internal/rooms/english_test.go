package rooms

import (
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// awkward is how often the words below occur today. Lower it with each room that is rewritten; it may only fall.
const awkward = 33

// Most sentences that need a second reading have one of these words, or "who" and "what" as nouns.
var (
	words    = regexp.MustCompile(`(?i)\b(tells|told|says whether|(that|those) of|of which|as a rule|likewise|so many)\b`)
	pronouns = regexp.MustCompile(`(?:^|[.:;!?)]\s+|\|\s*|^\s*[-*]\s+)(Who|What)\s[^.?!]*(\?|)`)
	quotes   = regexp.MustCompile("(?s)```.*?\n\\s*```|`[^`]*`|\"[^\"]{0,300}\"|“[^”]*”")
	headings = regexp.MustCompile(`(?m)^#+ .*$`)
)

// awkwardIn returns the awkward words of text, each with the number of lines before it. Quotations do not count.
func awkwardIn(text string) (found []string, lines []int) {
	text = quotes.ReplaceAllStringFunc(text, func(q string) string { return "Q" + strings.Repeat("\n", strings.Count(q, "\n")) })
	add := func(at int, word string) {
		found, lines = append(found, strings.Join(strings.Fields(word), " ")), append(lines, strings.Count(text[:at], "\n"))
	}
	for _, m := range words.FindAllStringIndex(text, -1) {
		add(m[0], text[m[0]:m[1]])
	}
	for _, m := range pronouns.FindAllStringSubmatchIndex(text, -1) {
		if m[4] == m[5] { // no question
			add(m[2], text[m[2]:m[3]])
		}
	}
	return found, lines
}

// prose calls f with each comment of a Go file, or paragraph of line comments, and with its strings unless it is a test.
func prose(name, text string, f func(text string, line int)) {
	fset := token.NewFileSet()
	file := fset.AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	var paragraph []string
	var first int
	flush := func() {
		if paragraph != nil {
			f(strings.Join(paragraph, "\n"), first)
			paragraph = nil
		}
	}
	for {
		pos, tok, lit := s.Scan()
		line := file.Line(pos)
		switch {
		case tok == token.COMMENT && strings.HasPrefix(lit, "//"):
			if line != first+len(paragraph) {
				flush()
			}
			if paragraph == nil {
				first = line
			}
			paragraph = append(paragraph, strings.TrimSpace(strings.TrimPrefix(lit, "//")))
			continue
		case tok == token.SEMICOLON && lit == "\n":
			continue
		}
		flush()
		switch tok {
		case token.EOF:
			return
		case token.COMMENT:
			f(lit, line)
		case token.STRING:
			if s, err := strconv.Unquote(lit); err == nil && !strings.HasSuffix(name, "_test.go") {
				f(s, line)
			}
		}
	}
}

// roomOf is the folder under which a file's words are counted.
func roomOf(name string) string {
	f := strings.Split(name, "/")
	switch {
	case len(f) == 1:
		return "."
	case f[0] == "internal" && len(f) > 2:
		return f[0] + "/" + f[1]
	case f[0] == "cmd" && len(f) > 4:
		return strings.Join(f[:4], "/")
	}
	return f[0]
}

// TestEnglish: the awkward words in comments, strings of the product, pages and the gate do not become more. With -v it prints each.
func TestEnglish(t *testing.T) {
	counts, total := map[string]int{}, 0
	count := func(name, text string, line int) {
		found, lines := awkwardIn(text)
		for i, word := range found {
			if testing.Verbose() {
				t.Logf("%s:%d: %s", name, line+lines[i], word)
			}
		}
		counts[roomOf(name)] += len(found)
		total += len(found)
	}
	texts(t, func(name, text string) {
		prose(name, text, func(text string, line int) { count(name, text, line) })
	}, ".go")
	texts(t, func(name, text string) {
		count(name, headings.ReplaceAllString(text, ""), 1)
	}, ".md")
	hash := regexp.MustCompile(`(?m)^(?:[^#\n]|#[^ \n])*(?:# ?)?`) // whatever is before a comment
	texts(t, func(name, text string) {
		if name == "Makefile" || strings.HasPrefix(name, ".ci/") {
			count(name, hash.ReplaceAllString(text, ""), 1)
		}
	}, "")
	if total > awkward {
		var b strings.Builder
		for _, room := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] }) {
			if counts[room] > 0 {
				fmt.Fprintf(&b, "\n%6d %s", counts[room], room)
			}
		}
		t.Errorf("%d awkward words in comments, strings and pages, %d allowed; go test -v -run TestEnglish prints each place. By room:%s", total, awkward, b.String())
	}
}
