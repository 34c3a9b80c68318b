package manpage

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"blobio/internal/base/version"
)

// Page is a manual page, written from top to bottom.
type Page struct {
	Name    string // such as "blobio-ls"
	Section int
	b       strings.Builder
}

// New begins a page with its title and NAME line. The line lists names, or name if names is empty.
func New(name string, section int, short string, names ...string) *Page {
	p := &Page{Name: name, Section: section}
	fmt.Fprintf(&p.b, ".TH %s %d %s \"blobio %s\"\n", strings.ToUpper(name), section, date().Format(time.DateOnly), version.Number)
	p.b.WriteString(".nh\n.ad l\n")
	p.Head("NAME")
	if len(names) == 0 {
		names = []string{name}
	}
	fmt.Fprintf(&p.b, "%s \\- %s\n", escape(strings.Join(names, ", ")), escape(strings.TrimSuffix(short, ".")))
	return p
}

// File returns the file name of the page.
func (p *Page) File() string { return fileName(p.Name, p.Section) }

func fileName(name string, section int) string { return fmt.Sprintf("%s.%d", name, section) }

// WriteTo writes the page.
func (p *Page) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, p.b.String())
	return int64(n), err
}

// Head begins a section. Its name is in capitals.
func (p *Page) Head(name string) { fmt.Fprintf(&p.b, ".SH %s\n", escape(name)) }

// Text adds paragraphs, separated by empty lines. Lines that begin with at least two blanks stay unchanged; others are filled.
func (p *Page) Text(s string) {
	blocks(s, func(first, literal bool, lines []string) {
		if !first {
			p.b.WriteString(".PP\n")
		}
		if literal {
			p.b.WriteString(".nf\n")
		}
		for _, l := range lines {
			p.b.WriteString(line(l) + "\n")
		}
		if literal {
			p.b.WriteString(".fi\n")
		}
	})
}

// blocks splits a text into filled and literal blocks. first is true for the first block.
func blocks(s string, f func(first, literal bool, lines []string)) {
	first, wasLiteral := true, false
	var lines []string
	end := func() {
		if len(lines) > 0 {
			f(first, wasLiteral, lines)
			first, lines = false, nil
		}
	}
	for l := range strings.Lines(s) {
		l = strings.ReplaceAll(strings.TrimRight(l, " \t\n"), "\t", "    ")
		literal := strings.HasPrefix(l, "  ")
		if l == "" || literal != wasLiteral {
			end()
		}
		wasLiteral = literal
		if l != "" {
			lines = append(lines, l)
		}
	}
	end()
}

// Lines adds lines unchanged, in bold if bold.
func (p *Page) Lines(bold bool, lines ...string) {
	p.b.WriteString(".nf\n")
	for _, l := range lines {
		if bold && l != "" {
			l = `\fB` + escape(l) + `\fR`
		} else {
			l = line(l)
		}
		p.b.WriteString(l + "\n")
	}
	p.b.WriteString(".fi\n")
}

// Paragraph begins a paragraph.
func (p *Page) Paragraph() { p.b.WriteString(".PP\n") }

// Indented adds a text indented below the previous one.
func (p *Page) Indented(s string) {
	p.b.WriteString(".RS\n")
	p.Text(s)
	p.b.WriteString(".RE\n")
}

// Item adds a term in bold, the text after it in italics, and its meaning.
func (p *Page) Item(term, rest, meaning string) {
	p.b.WriteString(".TP\n\\fB" + escape(term) + `\fR`)
	if rest != "" {
		p.b.WriteString(` \fI` + escape(rest) + `\fR`)
	}
	p.b.WriteString("\n" + line(meaning) + "\n")
}

// SeeAlso names other pages of the same section.
func (p *Page) SeeAlso(names ...string) {
	if len(names) == 0 {
		return
	}
	p.Head("SEE ALSO")
	for i, n := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Fprintf(&p.b, "\\fB%s\\fR(%d)%s\n", escape(n), p.Section, comma)
	}
}

// Link returns the file name for another name of the page.
func (p *Page) Link(name string) string { return fileName(name, p.Section) }

// escape makes text print literally.
var escape = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\(ga", "^", `\(ha`, "~", `\(ti`).Replace

// line escapes a whole line, which must not become a request.
func line(s string) string {
	s = escape(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

// date returns the date in SOURCE_DATE_EPOCH, which makes pages of one commit equal, or today.
func date() time.Time {
	if n, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(n, 0).UTC()
	}
	return time.Now()
}
