package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// JSONFlag adds --json. form is a sample of the printed value: the help lists its fields, unless it already does.
func JSONFlag(cmd *cobra.Command, p *bool, form ...any) {
	cmd.Flags().BoolVar(p, "json", false, "print JSON with stable field names and sizes in bytes")
	f := cmd.Flags().Lookup("json")
	f.Value = &jsonFlag{f.Value, form}
}

// jsonFlag is a boolean flag that keeps the samples until Describe writes them: all verbs are made in each run, but few runs
// print help.
type jsonFlag struct {
	pflag.Value
	form []any
}

// Describe completes the help of a verb. It must be called before Long is used.
func Describe(cmd *cobra.Command) {
	f := cmd.Flags().Lookup("json")
	if f == nil {
		return
	}
	if j, ok := f.Value.(*jsonFlag); ok {
		for _, v := range j.form {
			cmd.Long += "\n\n" + strings.Join(Wrapped("JSON: "+Shape(v)+"."), "\n")
		}
		j.form = nil
	}
}

// PrintJSON prints one value.
func (e *Env) PrintJSON(v any) error {
	enc := json.NewEncoder(e.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Tell prints v as JSON if asJSON is set, otherwise a line of text.
func (e *Env) Tell(asJSON bool, v any, format string, args ...any) error {
	if asJSON {
		return e.PrintJSON(v)
	}
	_, err := fmt.Fprintf(e.Out, format+"\n", args...)
	return err
}

// NewTable starts a table. A column whose head begins with '>' is right-aligned, for numbers.
func (e *Env) NewTable(indent string, heads ...string) *Table {
	t := &Table{e: e, indent: indent}
	for _, h := range heads {
		right := strings.HasPrefix(h, ">")
		t.right = append(t.right, right)
		heads[len(t.right)-1] = strings.TrimPrefix(h, ">")
	}
	t.Rows = append(t.Rows, heads)
	return t
}

// Table prints aligned columns. It keeps its rows until Flush.
type Table struct {
	e      *Env
	indent string
	right  []bool
	Rows   [][]string
}

// Row adds a row. Cells are made printable.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = Plain(fmt.Sprint(c))
	}
	t.Rows = append(t.Rows, row)
}

// Flush prints the rows and clears them. The last column is not padded.
func (t *Table) Flush() {
	var width []int
	for _, row := range t.Rows {
		for i, c := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	for _, row := range t.Rows {
		line := t.indent
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-len([]rune(c)))
			if t.right[i] {
				line += pad + c
			} else {
				line += c + pad
			}
			line += "  "
		}
		fmt.Fprintln(t.e.Out, strings.TrimRight(line, " "))
	}
	t.Rows = nil
}

// HumanBytes formats a size for people.
func HumanBytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x, i := float64(n)/1024, 0
	for x >= 1023.95 && i < len(units)-1 {
		x /= 1024
		i++
	}
	if x < 10 {
		return fmt.Sprintf("%.2f %ciB", x, units[i])
	}
	return fmt.Sprintf("%.1f %ciB", x, units[i])
}

// ParseBytes reads a size: 268435456, 256M, 256MiB, 1.5G. Units are powers of 1024.
func ParseBytes(s string) (int64, error) {
	t := strings.ToUpper(strings.TrimSpace(s))
	t = strings.TrimSuffix(strings.TrimSuffix(t, "B"), "I")
	shift := 0
	if n := len(t); n > 0 {
		if i := strings.IndexByte("KMGT", t[n-1]); i >= 0 {
			shift, t = 10*(i+1), t[:n-1]
		}
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(t), 64)
	if err != nil || !(x >= 0) || x*float64(int64(1)<<shift) > 1<<62 {
		return 0, fmt.Errorf("size %q, want a number of bytes, or a number with K, M, G or T, such as 256M", s)
	}
	return int64(x * float64(int64(1)<<shift)), nil
}

// SizeValue is a flag value that is a size.
type SizeValue struct{ p *int64 }

func (v SizeValue) String() string {
	if v.p == nil || *v.p == 0 {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSuffix(HumanBytes(*v.p), "iB"), " ", "")
}
func (v SizeValue) Type() string { return "size" }
func (v SizeValue) Set(s string) (err error) {
	*v.p, err = ParseBytes(s)
	return err
}

// SizeFlag returns a flag value that sets p.
func SizeFlag(p *int64) SizeValue { return SizeValue{p} }

// choice is a flag value that takes one of several words.
type choice struct {
	p     *string
	words []string
}

func (c choice) String() string {
	if c.p == nil {
		return ""
	}
	return *c.p
}
func (c choice) Type() string { return "word" }
func (c choice) Set(s string) error {
	for _, w := range c.words {
		if s == w {
			*c.p = s
			return nil
		}
	}
	return fmt.Errorf("want %s", strings.Join(c.words, ", "))
}

// ChoiceFlag adds a flag with a default value and completion of its words. The usage lists the words unless it already explains
// them.
func ChoiceFlag(cmd *cobra.Command, p *string, name, def, usage string, words ...string) {
	*p = def
	if last := words[len(words)-1]; !strings.Contains(usage, last) {
		usage += ": " + strings.Join(words[:len(words)-1], ", ") + " or " + last
	}
	cmd.Flags().Var(choice{p, words}, name, usage)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// WorkersFlag adds --workers; usage describes the workers' task.
func WorkersFlag(cmd *cobra.Command, p *int, usage string) {
	cmd.Flags().Var(workers{p}, "workers", usage)
}

// workers is a flag value for a count. 0 lets the library choose.
type workers struct{ p *int }

func (v workers) String() string {
	if v.p == nil {
		return "0"
	}
	return strconv.Itoa(*v.p)
}
func (v workers) Type() string { return "int" }
func (v workers) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return err
	}
	if n < 0 {
		return errors.New("want a positive number")
	}
	*v.p = n
	return nil
}

// Plural formats a count with its noun.
func Plural[T int | int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
