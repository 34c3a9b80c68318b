package rooms

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// made are directories of what is built.
var made = []string{filepath.Join(root, "capi", "build"), filepath.Join(root, "build"), filepath.Join(root, "dist")}

// texts calls f with every file of the project whose name ends in one of ext; names are relative to the top, with slashes.
func texts(t *testing.T, f func(name, text string), ext ...string) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"), d.IsDir() && slices.Contains(made, p):
			return fs.SkipDir
		case !d.Type().IsRegular() || !slices.ContainsFunc(ext, func(e string) bool { return strings.HasSuffix(p, e) }):
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, p)
		if err == nil {
			f(filepath.ToSlash(name), strings.ReplaceAll(string(b), "\r\n", "\n"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// anchors are the names that a link can have behind #, for the headings of a page. Headings of the same text are counted.
func anchors(page string) map[string]bool {
	have, code := map[string]bool{}, false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		h := strings.TrimLeft(line, "#")
		if code || h == line || !strings.HasPrefix(h, " ") {
			continue
		}
		h = strings.ToLower(strings.TrimSpace(regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(h, "]")))
		h = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`).ReplaceAllString(h, "")
		h = strings.ReplaceAll(h, " ", "-")
		name := h
		for n := 1; have[name]; n++ {
			name = fmt.Sprintf("%s-%d", h, n)
		}
		have[name] = true
	}
	return have
}

// TestLinks: whatever a page links to within the project is there, headings too.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^()\s]+)\)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	texts(t, func(name, text string) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			target := text
			if to != "" {
				file := filepath.Join(root, path.Dir(name), to)
				if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: link to %s, which is not there", name, m[1])
					continue
				}
				if anchor == "" {
					continue
				}
				b, err := os.ReadFile(file)
				if err != nil {
					t.Error(err)
				}
				target = strings.ReplaceAll(string(b), "\r\n", "\n")
			}
			if !anchors(target)[anchor] {
				t.Errorf("%s: link to %s: no such heading", name, m[1])
			}
		}
	}, ".md")
}
