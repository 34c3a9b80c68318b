package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/cli"
)

// extent is a row of dump --layout.
type extent struct {
	Set     int    `json:"set"`
	Subfile int    `json:"subfile"`
	File    string `json:"file"`
	Name    string `json:"name"`
	Rank    int    `json:"rank"`
	Record  int64  `json:"record"`
	Records int64  `json:"records,omitempty"` // number of records in the extent, if several
	Offset  int64  `json:"offset"`
	Bytes   int64  `json:"bytes"`
	Content int64  `json:"content,omitempty"` // size of the content, if compressed
	Codec   string `json:"codec,omitempty"`
}

// layoutBatch is the number of table rows aligned together. There may be millions of rows.
const layoutBatch = 2000

func (f *dumpFlags) dumpLayout(ctx context.Context, e *cli.Env, r *blob.Reader) error {
	known := func(name string) bool {
		_, ok := r.Schema().VarID(name)
		return ok || name == "header" || strings.HasPrefix(name, "D")
	}
	for _, name := range f.vars {
		if !known(name) {
			return checkVars(r, []string{name})
		}
	}
	recs, err := parseRecords(f.recs, r.Records())
	if err != nil {
		return err
	}
	heads := []string{"FILE", "NAME", ">RECORD", ">RANK", ">OFFSET", ">HEX", ">BYTES"}
	coded := r.Form().Compressed || r.Form().NetCDF4
	if coded {
		heads = append(heads, ">CONTENT", "CODEC")
	}
	t := e.NewTable("", heads...)
	if f.asJSON {
		fmt.Fprint(e.Out, "{\n  \"extents\": [")
	}
	n, found := 0, false
	for x, err := range r.Inspect().Extents(ctx) {
		if err != nil {
			return err
		}
		if len(f.vars) > 0 && !slices.Contains(f.vars, x.Name) ||
			recs != nil && x.Record >= 0 && (x.Record+x.Records <= recs.First || x.Record >= recs.End) || f.blob >= 0 && x.Rank >= 0 && x.Rank != f.blob {
			continue
		}
		found = true
		if f.asJSON {
			row := extent{x.Set, x.Subfile, x.File, x.Name, x.Rank, x.Record, 0, x.Offset, x.Bytes, 0, x.Codec}
			if x.Records > 1 {
				row.Records = x.Records
			}
			if x.Codec != "" {
				row.Content = x.Content
			}
			b, err := json.Marshal(row)
			if err != nil {
				return err
			}
			sep := ","
			if n == 0 {
				sep = ""
			}
			n++
			fmt.Fprintf(e.Out, "%s\n    %s", sep, b)
			continue
		}
		rec, rank := "-", "-"
		if x.Record >= 0 {
			rec = fmt.Sprint(x.Record)
			if x.Records > 1 {
				rec = fmt.Sprintf("%d:%d", x.Record, x.Record+x.Records)
			}
		}
		if x.Rank >= 0 {
			rank = fmt.Sprint(x.Rank)
		}
		cells := []any{x.File, x.Name, rec, rank, x.Offset, fmt.Sprintf("%#x", x.Offset), x.Bytes}
		if coded {
			codec := x.Codec
			if codec == "" {
				codec = "-"
			}
			cells = append(cells, x.Content, codec)
		}
		t.Row(cells...)
		if n++; n%layoutBatch == 0 {
			t.Flush()
		}
	}
	if f.asJSON {
		fmt.Fprint(e.Out, "\n  ]\n}\n")
	} else if found {
		t.Flush()
	}
	if !found && (len(f.vars) > 0 || recs != nil || f.blob >= 0) {
		return fmt.Errorf("%s: no extent matches --vars, --records and --blob", r.Base())
	}
	return nil
}

// dumpRaw prints the blobs of one record of a variable.
func (f *dumpFlags) dumpRaw(ctx context.Context, w *cdlWriter, r *blob.Reader) error {
	name := f.vars[0]
	id, _ := r.Schema().VarID(name)
	sv := &r.Schema().Vars()[id]
	if sv.Decomp == 0 {
		return fmt.Errorf("%s: variable %q is not decomposed and has no blobs", r.Base(), name)
	}
	n := int64(1)
	if sv.Record {
		n = r.Records()
	}
	recs, err := parseRecords(cmp.Or(f.recs, "0"), n)
	if err != nil {
		return err
	}
	out := w.e.Out
	if f.asJSON {
		fmt.Fprint(out, "{\n  \"blobs\": [")
	}
	found := 0
	for rec := recs.First; rec < recs.End; rec++ {
		if !f.asJSON && recs.End > recs.First+1 {
			fmt.Fprintf(out, "record %d\n", rec)
		}
		for b, err := range r.Inspect().Blobs(ctx, name, rec) {
			if err != nil {
				return err
			}
			if f.blob >= 0 && b.Rank != f.blob {
				continue
			}
			if f.asJSON {
				if found > 0 {
					fmt.Fprint(out, ",")
				}
				fmt.Fprintf(out, "\n    {\"record\":%d,\"subfile\":%d,\"rank\":%d,\"runs\":[", rec, b.Subfile, b.Rank)
				for i, q := range b.Runs {
					if i > 0 {
						out.WriteByte(',')
					}
					fmt.Fprintf(out, "[%d,%d]", q.Offset, q.Length)
				}
				fmt.Fprint(out, `],"data":[`)
				k, _, _ := cdf5.SliceLen(b.Data)
				for i := range k {
					if i > 0 {
						out.WriteByte(',')
					}
					out.Write(appendJSONValue(nil, b.Data, i, nil))
				}
				fmt.Fprint(out, "]}")
			} else if err := w.rawBlob(b); err != nil {
				return err
			}
			found++
		}
	}
	if f.asJSON {
		fmt.Fprint(out, "\n  ]\n}\n")
	}
	if found == 0 {
		_, ranks := r.Subfiles()
		return fmt.Errorf("%s: blob %d does not exist, the dataset has %d blobs", r.Base(), f.blob, ranks)
	}
	return nil
}

// rawBlob prints one blob: a line per request, with the position in the array.
func (w *cdlWriter) rawBlob(b blob.Blob) error {
	n, _, _ := cdf5.SliceLen(b.Data)
	fmt.Fprintf(w.e.Out, "blob %d, subfile %d: %s in %s\n", b.Rank, b.Subfile, cli.Plural(n, "element"), cli.Plural(len(b.Runs), "request"))
	pos := int64(0)
	width := len(fmt.Sprint(lastOf(b.Runs)))
	var line []byte
	for _, q := range b.Runs {
		line = fmt.Appendf(line[:0], "  %*d:", width, q.Offset)
		for i := pos; i < pos+q.Length; i++ {
			line = w.appendValue(append(line, ' '), b.Data, int(i), nil)
		}
		pos += q.Length
		if _, err := w.e.Out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func lastOf(runs []decomp.Req) (most int64) {
	for _, q := range runs {
		most = max(most, q.Offset)
	}
	return most
}
