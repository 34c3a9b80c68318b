package scrtools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/scr/kvtree"
)

type scrPrintFlags struct {
	form          string
	sorted, quiet bool
	asJSON        bool
}

func newScrPrint(e *cli.Env) *cobra.Command {
	var f scrPrintFlags
	cmd := &cobra.Command{
		Use:   "print FILE...",
		Short: "Print any key/value file of SCR",
		Long: `Print key/value files of SCR: index, summary, map, flush, halt, nodes, file map, catalogue and
transfer files. For redundancy files, print the header and the size of the payload.

Keys that are not plain text are printed in quotes. The CRC-32 of each file is verified. A
damaged file is not printed; the error names the damage and its offset.

Exit codes: 0 good, 1 a file is damaged, 2 a file is not a key/value file, or cannot be read.

In JSON, a value is a key with an empty object: "SIZE": {"1024": {}}.`,
		Example: `  blobio scr print /p/sim/.scr/index.scr
  blobio scr print --form tree /p/sim/.scr/halt.scr     # one key on each line
  blobio scr print /dev/shm/u/scr.1/scr.dataset.4/.scr/reddesc.er.0.xor.*   # header and payload
  blobio scr print --json index.scr | jq '.files[0].tree.CURRENT | keys[0]'`,
		Args: cli.MinArgs(1, "a key/value file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	cli.ChoiceFlag(cmd, &f.form, "form", "keyval", "output format: keyval (KEY = value) or tree (one key on each line)", "keyval", "tree")
	cmd.Flags().BoolVar(&f.sorted, "sort", false, "sort keys (default: order of the file)")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print only whether each file is good")
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"files": []scrPrinted{}})
	return cmd
}

// scrPrinted describes a key/value file for JSON.
type scrPrinted struct {
	Path    string    `json:"path"`
	Bytes   int64     `json:"bytes"`
	Record  int64     `json:"record"`
	CRC     string    `json:"crc,omitempty"`
	Payload int64     `json:"payload"`
	Tree    *jsonTree `json:"tree,omitempty"`
	Error   string    `json:"error,omitempty"`
}

func (f *scrPrintFlags) run(cmd *cobra.Command, e *cli.Env, paths []string) error {
	ctx := cmd.Context()
	out := []scrPrinted{}
	for i, path := range paths {
		rec, size, err := readTree(path)
		p := scrPrinted{Path: path, Bytes: size}
		switch {
		case err != nil && isTreeDamage(err):
			e.Judge(cli.Findings)
			p.Error = cli.ErrorText(err)
			if !f.asJSON {
				e.Out.Flush()
				fmt.Fprintln(e.Stderr, "blobio: "+p.Error)
			}
			out = append(out, p)
			continue
		case err != nil:
			if err := e.PathFailed(ctx, cmd, len(paths), err); err != nil {
				return err
			}
			continue
		}
		if f.sorted {
			rec.Tree.SortAll()
		}
		p.Record, p.Payload, p.Tree = rec.Size, size-rec.Size, (*jsonTree)(rec.Tree)
		if rec.HasCRC {
			p.CRC = fmt.Sprintf("%#x", rec.CRC)
		}
		out = append(out, p)
		switch {
		case f.asJSON:
		case f.quiet:
			fmt.Fprintf(e.Out, "%s: good\n", clean(path))
		default:
			if err := f.print(e, p, rec, len(paths) > 1, i > 0); err != nil {
				return err
			}
		}
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"files": out})
	}
	return nil
}

// readTree reads the record at the start of a file, and returns the size of the file.
func readTree(path string) (*kvtree.Record, int64, error) {
	info, err := vfs.OS.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, fmt.Errorf("%s is a directory, want a key/value file", path)
	}
	rec, err := kvtree.ReadFileRecord(nil, path, nil)
	return rec, info.Size(), err
}

// isTreeDamage reports whether an error is about the content of a key/value file.
func isTreeDamage(err error) bool {
	var fe *kvtree.FormatError
	return errors.As(err, &fe) && !errors.Is(err, kvtree.ErrNotFormat)
}

func (f *scrPrintFlags) print(e *cli.Env, p scrPrinted, rec *kvtree.Record, heads, more bool) error {
	if more {
		fmt.Fprintln(e.Out)
	}
	if heads || p.Payload > 0 {
		what := fmt.Sprintf("%s: %d bytes", clean(p.Path), p.Record)
		if rec.HasCRC {
			what += ", crc " + p.CRC
		} else if p.Record > 0 {
			what += ", no crc"
		}
		if p.Payload > 0 {
			what += fmt.Sprintf("; then payload, %d bytes from offset %d", p.Payload, p.Record)
			if chunk, err := rec.Tree.Value("CHUNK").Int64(); err == nil && chunk > 0 {
				what += fmt.Sprintf(" (%s of %d)", cli.Plural(p.Payload/chunk, "chunk"), chunk)
				if p.Payload%chunk != 0 {
					what += fmt.Sprintf(" and %d bytes of one", p.Payload%chunk)
				}
			}
		}
		fmt.Fprintln(e.Out, what)
	}
	if rec.Tree.Len() == 0 {
		fmt.Fprintln(e.Out, "  (nothing)")
		return nil
	}
	form := true
	if f.form == "tree" {
		form = false
	}
	t := rec.Tree
	if !plainKeys(t) {
		t = quoteKeys(t)
	}
	return kvtree.Print(t, e.Out, 0, form)
}

// plainKeys reports whether all keys can be printed unchanged.
func plainKeys(t *kvtree.Tree) bool {
	for key, sub := range t.All() {
		if clean(key) != key || !plainKeys(sub) {
			return false
		}
	}
	return true
}

// quoteKeys returns the tree with the keys that are not plain text in quotes. If two keys become equal, their subtrees are
// merged.
func quoteKeys(t *kvtree.Tree) *kvtree.Tree {
	out := kvtree.New()
	keys := t.Keys()
	for i := len(keys) - 1; i >= 0; i-- { // in reverse, because Set adds a new key at the head
		sub := quoteKeys(t.Get(keys[i]))
		if was := out.Get(clean(keys[i])); was != nil {
			was.Merge(sub)
			continue
		}
		out.Set(clean(keys[i]), sub)
	}
	return out
}

// jsonTree marshals a tree as nested objects in its own order.
type jsonTree kvtree.Tree

func (t *jsonTree) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := t.append(&b)
	return b.Bytes(), err
}

func (t *jsonTree) append(b *bytes.Buffer) error {
	b.WriteByte('{')
	first := true
	for key, sub := range (*kvtree.Tree)(t).All() {
		if !first {
			b.WriteByte(',')
		}
		first = false
		text, err := json.Marshal(strings.ToValidUTF8(key, "\uFFFD"))
		if err != nil {
			return err
		}
		b.Write(text)
		b.WriteByte(':')
		if err := (*jsonTree)(sub).append(b); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}
