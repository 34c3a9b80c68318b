package fti

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/ffformat"
	"blobio/internal/base/elem"
	"blobio/internal/cli"
)

type ffDumpFlags struct {
	variable      int32
	typ, elements string
	big           bool
	out           string // output directory for the bytes of variables
	vars          []string
	force         bool
	asJSON        bool
}

// ffTypes are the types for printing values; hex means bytes.
var ffTypes = map[string]elem.Type{"i1": elem.Int8, "u1": elem.Uint8, "i2": elem.Int16, "u2": elem.Uint16, "i4": elem.Int32, "u4": elem.Uint32,
	"i8": elem.Int64, "u8": elem.Uint64, "f4": elem.Float32, "f8": elem.Float64}

func newFFDump(e *cli.Env) *cobra.Command {
	var f ffDumpFlags
	cmd := &cobra.Command{
		Use:   "dump FILE",
		Short: "Print the metadata or a variable of a checkpoint file, or extract variables",
		Long: `Print every metadata field of a checkpoint file with its offset. With --var, print the values
of a variable. The file does not store the type of the values; --type gives it. Reading a
damaged container is an error.

--output writes the verified bytes of each variable to a separate file, DIR/var<id>.raw. From
a damaged file, dump writes the intact variables and lists the others. If the metadata are
damaged, --output and --var print a warning, because the ids of variables may be wrong. A file
of the POSIX mode has one checksum for all variables.

Exit codes: 0 all printed or written, 1 variables or metadata are damaged, 2 could not run.

JSON: {path, layout, file_block: {offset, checksum, my_hash, checkpoint,
checkpoint_size, meta_size, data_size, file_size, max_fs, pt_fs, timestamp},
blocks: [{offset, bytes, containers: [...]}]}, where containers are as in ff ls. For a file of
the POSIX mode: {path, layout, metadata, section, checkpoint, file_size, checksum, variables:
[{variable, offset, bytes, name}]}. With --var:
{path, variable, type, bytes, first, values: [...]}, where hex values are text, and NaN and
infinities are null. With --output: {path, variables: [{variable, bytes, file, error}]}.`,
		Example: `  blobio ff dump Ckpt7-Rank0.fti
  blobio ff dump --var 2 --type f8 Ckpt7-Rank0.fti
  blobio ff dump --var 2 --type i4 --elements 1000:1010 Ckpt7-Rank0.fti
  blobio ff dump --var 2 --elements 0:256 Ckpt7-Rank0.fti    # bytes
  blobio ff dump -o rank0 --vars 1,4 Ckpt7-Rank0.fti         # rank0/var1.raw, rank0/var4.raw`,
		Args: cli.ExactArgs(1, "one checkpoint file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args[0])
		},
	}
	fl := cmd.Flags()
	fl.Int32Var(&f.variable, "var", 0, "print the values of this variable")
	cli.ChoiceFlag(cmd, &f.typ, "type", "hex", "type of the values", "hex", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
	fl.StringVar(&f.elements, "elements", "", "elements FIRST:END, from 0 (END excluded; either may be omitted), or one number")
	fl.BoolVar(&f.big, "big-endian", false, "read the values as big-endian")
	fl.StringVarP(&f.out, "output", "o", "", "write the bytes of each variable to a file in this directory, which is created if needed")
	ffVarsFlag(cmd, &f.vars, "--output: only these variables, such as 1,4")
	fl.BoolVar(&f.force, "force", false, "--output: replace existing files")
	_ = cmd.MarkFlagDirname("output")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *ffDumpFlags) run(cmd *cobra.Command, e *cli.Env, path string) error {
	given := cmd.Flags().Changed
	switch {
	case f.out != "" && given("var"):
		return cli.Usagef("--vars needs --output; --var prints the values of one variable")
	case f.out == "" && (given("vars") || f.force):
		return cli.Usagef("--vars and --force need --output")
	}
	if !given("var") {
		if err := cli.NotGiven(cmd, "needs --var", "type", "elements", "big-endian"); err != nil {
			return err
		}
	}
	if f.out != "" {
		return f.extract(cmd.Context(), e, path)
	}
	file, r, err := openFFReader(cmd.Context(), path, true)
	if err != nil {
		return err
	}
	defer file.Close()
	if d := file.bad; d != nil {
		if file.posix != nil && given("var") { // all variables share one checksum
			return damaged(e, d)
		}
		fmt.Fprintf(e.Stderr, "blobio: warning: %s\n", cli.ErrorText(d))
		e.Code = cli.Findings
	}
	if !given("var") {
		if file.posix != nil {
			return f.posixMetadata(cmd.Context(), e, path, file.posix)
		}
		return f.metadata(e, r.File())
	}
	if _, err := ffVars([]string{strconv.Itoa(int(f.variable))}, r.File()); err != nil {
		return err
	}
	if err := f.values(cmd.Context(), e, r); len(ffformat.BadVars(err)) == 0 {
		return err
	} else {
		return damaged(e, err)
	}
}

// damaged prints the damage and sets exit code Findings: damaged data are not a failure of the command.
func damaged(e *cli.Env, err error) error {
	fmt.Fprintf(e.Stderr, "blobio: %s\n", cli.ErrorText(err))
	e.Code = cli.Findings
	return nil
}

func (f *ffDumpFlags) metadata(e *cli.Env, file *ffformat.File) error {
	d := describeFF(file, true)
	fb := &file.FB
	at := file.FileBlockOffset()
	if f.asJSON {
		return e.PrintJSON(map[string]any{"path": d.Path, "layout": d.Layout, "blocks": d.Blocks, "file_block": map[string]any{
			"offset": at, "checksum": fb.Checksum, "my_hash": hex.EncodeToString(fb.MyHash[:]), "checkpoint": fb.CkptID, "checkpoint_size": fb.CkptSize,
			"meta_size": fb.MetaSize, "data_size": fb.DataSize, "file_size": fb.FileSize, "max_fs": fb.MaxFs, "pt_fs": fb.PtFs, "timestamp": fb.Timestamp}})
	}
	fmt.Fprintf(e.Out, "%s: %s\n", d.Path, d.summary())
	fmt.Fprintf(e.Out, "file block at %#x:\n", at)
	t := e.NewTable("  ", "FIELD", "VALUE")
	t.Row("checksum", strconv.Quote(fb.Checksum))
	t.Row("myHash", hex.EncodeToString(fb.MyHash[:]))
	late, ids := file.Layout >= ffformat.LayoutC0, file.Layout >= ffformat.LayoutC
	if ids {
		t.Row("ckptId", fb.CkptID)
	}
	t.Row("ckptSize", fb.CkptSize)
	if late {
		t.Row("metaSize", fb.MetaSize)
		t.Row("dataSize", fb.DataSize)
	}
	t.Row("fs", fb.FileSize)
	t.Row("maxFs", fb.MaxFs)
	t.Row("ptFs", fb.PtFs)
	when := strconv.FormatInt(fb.Timestamp, 10)
	if w := d.written(); w != "" {
		when += " (" + w + ")"
	}
	t.Row("timestamp", when)
	t.Flush()
	for i, b := range d.Blocks {
		fmt.Fprintf(e.Out, "block %d at %#x: %s, dbsize %d\n", i, b.Offset, cli.Plural(len(b.Containers), "container"), b.Bytes)
		heads := []string{">AT", ">ID"}
		if file.Layout <= ffformat.LayoutC {
			heads = append(heads, ">IDX")
		}
		t := e.NewTable("  ", append(heads, ">CONTAINERID", ">HASCONTENT", ">HASCKPT", ">DPTR", ">FPTR", ">CHUNKSIZE", ">CONTAINERSIZE", "HASH")...)
		for j, c := range b.Containers {
			cells := []any{fmt.Sprintf("%#x", file.RecordOffset(i, j)), c.Var}
			if file.Layout <= ffformat.LayoutC {
				cells = append(cells, file.Blocks[i].Containers[j].Idx)
			}
			t.Row(append(cells, c.Container, bit(c.Content), bit(c.HasCkpt), c.Dptr, c.Fptr, c.Chunk, c.Size, c.Hash)...)
		}
		t.Flush()
	}
	return nil
}

// posixMetadata prints FTI's metadata for a file of FTI's POSIX mode.
func (f *ffDumpFlags) posixMetadata(ctx context.Context, e *cli.Env, path string, p *ffformat.PosixFile) error {
	d, err := describePosix(ctx, path, p)
	if err != nil {
		return err
	}
	if !f.asJSON {
		return d.printPosix(e)
	}
	vars := []map[string]any{}
	for _, v := range p.Vars {
		vars = append(vars, map[string]any{"variable": v.ID, "offset": v.Pos, "bytes": v.Size, "name": v.Name})
	}
	return e.PrintJSON(map[string]any{"path": path, "layout": d.Layout, "metadata": p.Meta, "section": p.Section, "checkpoint": d.Checkpoint,
		"file_size": p.Size, "checksum": p.Sum, "variables": vars})
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// values prints a range of a variable.
func (f *ffDumpFlags) values(ctx context.Context, e *cli.Env, r *ffformat.Reader) error {
	size, err := r.VarSize(f.variable)
	if err != nil {
		return err
	}
	width := max(int64(ffTypes[f.typ].Size()), 1)
	if f.elements == "" && size%width != 0 {
		return fmt.Errorf("variable %d has %d bytes, which is not a whole number of %s values: give --elements", f.variable, size, f.typ)
	}
	first, end, err := cli.Range("elements", f.elements, size/width, "element")
	if err != nil {
		return err
	}
	w := &ffValues{e: e, f: f, width: int(width), at: first}
	w.begin(r.File().Name, size, end)
	buf := make([]byte, 64<<10)
	for off := first * width; off < end*width; off += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := buf[:min(int64(len(buf)), end*width-off)]
		if _, err := r.ReadAt(f.variable, p, off); err != nil && !(errors.Is(err, io.EOF) && off+int64(len(p)) == size) {
			return err
		}
		if err := w.print(p); err != nil {
			return err
		}
	}
	return w.end()
}

// ffValues prints values, several in a line.
type ffValues struct {
	e       *cli.Env
	f       *ffDumpFlags
	width   int
	at      int64 // index of the next element
	perLine int
	digits  int // width of the index at the start of a line
	started bool
	text    []byte
	ascii   []byte
}

func (w *ffValues) begin(path string, size, end int64) {
	w.perLine = map[string]int{"hex": 16, "i1": 16, "u1": 16, "i2": 10, "u2": 10, "i4": 8, "u4": 8}[w.f.typ]
	if w.perLine == 0 {
		w.perLine = 4
	}
	w.digits = len(strconv.FormatInt(max(end-1, 0), 10))
	if w.f.typ == "hex" {
		w.digits = len(strconv.FormatInt(max(end-1, 0), 16))
	}
	if w.f.asJSON {
		fmt.Fprintf(w.e.Out, "{\n  \"path\": %s,\n  \"variable\": %d,\n  \"type\": %q,\n  \"bytes\": %d,\n  \"first\": %d,\n  \"values\": [", jsonText(path), w.f.variable, w.f.typ, size, w.at)
		return
	}
	what := w.f.typ + " values"
	if w.f.typ == "hex" {
		what = "bytes"
	}
	fmt.Fprintf(w.e.Out, "%s: variable %d, %d bytes; %s %d to %d\n", path, w.f.variable, size, what, w.at, end)
}

// print prints whole elements. Lines begin at multiples of perLine, which divides each piece read.
func (w *ffValues) print(p []byte) error {
	order := binary.ByteOrder(binary.LittleEndian)
	if w.f.big {
		order = binary.BigEndian
	}
	for n := 0; len(p) > 0; n++ {
		raw := p[:w.width]
		p = p[w.width:]
		value := ffTypes[w.f.typ].AppendText(w.text[:0], raw, order)
		if w.f.typ == "hex" {
			value = hex.AppendEncode(value, raw)
		}
		w.text = value
		if w.f.asJSON {
			if w.started {
				fmt.Fprint(w.e.Out, ", ")
			}
			if w.f.typ == "hex" {
				fmt.Fprintf(w.e.Out, "%q", value)
			} else if len(value) == 0 || strings.ContainsAny(string(value), "NI") {
				fmt.Fprint(w.e.Out, "null")
			} else {
				w.e.Out.Write(value)
			}
		} else {
			w.line(value, raw)
		}
		w.started = true
		w.at++
	}
	return nil
}

// line appends a value to its line.
func (w *ffValues) line(value, raw []byte) {
	if len(w.ascii) == 0 {
		if w.f.typ == "hex" {
			fmt.Fprintf(w.e.Out, "  0x%0*x ", w.digits, w.at)
		} else {
			fmt.Fprintf(w.e.Out, "  %*d ", w.digits, w.at)
		}
	}
	pad := map[string]int{"hex": 2, "i1": 4, "u1": 3, "i2": 6, "u2": 5, "i4": 11, "u4": 10, "i8": 20, "u8": 20, "f4": 14, "f8": 23}[w.f.typ]
	fmt.Fprintf(w.e.Out, " %*s", pad, value)
	c := raw[0]
	if c < ' ' || c > '~' {
		c = '.'
	}
	if w.ascii = append(w.ascii, c); len(w.ascii) == w.perLine {
		w.endLine()
	}
}

func (w *ffValues) endLine() {
	if w.f.typ == "hex" {
		fmt.Fprintf(w.e.Out, "%s  %s", strings.Repeat("   ", w.perLine-len(w.ascii)), w.ascii)
	}
	w.e.Out.WriteByte('\n')
	w.ascii = w.ascii[:0]
}

func (w *ffValues) end() (err error) {
	if w.f.asJSON {
		_, err = fmt.Fprint(w.e.Out, "]\n}\n")
	} else if len(w.ascii) > 0 {
		w.endLine()
	}
	return err
}
