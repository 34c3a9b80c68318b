package dataset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/cli"
)

type dumpFlags struct {
	source      sourceFlags
	header      bool
	coords      bool
	vars        []string
	precision   string
	layout, raw bool
	recs        string
	blob        int
	asJSON      bool
}

func NewDump(e *cli.Env) *cobra.Command {
	var f dumpFlags
	cmd := &cobra.Command{
		Use:   "dump PATH",
		Short: "Print a dataset as CDL, or where its bytes lie",
		Long: `Print a dataset as ncdump prints the equivalent ordinary netCDF file: canonical
names, dimensions and attributes, values in canonical order, fill values as _.
ncgen reads the output. Memory is bounded.

--layout prints where everything lies instead: file, offset and length of the
headers, the maps and each blob of each variable.
--raw prints the blobs of one variable as they are, in map order.

Other kinds of paths are recognised by content and go to the verb of their family,
which has its own flags: see "blobio --help".

JSON: {name, dims, variables: [{..., data: [...]}], attributes}, fill values null.
With --layout: {"extents": [{set, subfile, file, name, rank, record, offset, bytes}]},
for compressed files also content and codec; rank or record is -1 where there is none.
With --raw: {"blobs": [{record, subfile, rank, runs: [[offset, length]], data}]}.`,
		Example: `  blobio dump -h F_h0.nc                     # header only
  blobio dump -v T850,PS F_h1.nc             # header and the values of two variables
  blobio dump -p 9,17 -v lat F_h1.nc         # as many digits as the types hold
  blobio dump F_h1.nc | ncgen -k cdf5 -o again.nc
  blobio dump --layout -v U --records 0 F_h1.nc  # which bytes are U's first record
  blobio dump --raw -v U --records 0 --blob 3 F_h1.nc`,
		Args: cli.ExactArgs(1, "one dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args[0])
		},
		ValidArgsFunction: nil,
	}
	fl := cmd.Flags()
	fl.Bool("help", false, "help for dump") // -h is taken, as in ncdump
	fl.BoolVarP(&f.header, "header", "h", false, "header only")
	fl.BoolVarP(&f.coords, "coords", "c", false, "header and the values of coordinate variables")
	varsFlag(cmd, &f.vars, "v", "print the values of these variables only, such as T,PS")
	fl.StringVarP(&f.precision, "precision", "p", "7,15", "significant digits of float and double values")
	fl.BoolVar(&f.layout, "layout", false, "print where everything lies")
	fl.BoolVar(&f.raw, "raw", false, "print the blobs of the variable of -v, in map order")
	fl.StringVar(&f.recs, "records", "", "with --layout and --raw: these records only: FIRST:END (END not included; either may be left out), or one number (--raw: default 0)")
	fl.IntVar(&f.blob, "blob", -1, "with --layout and --raw: this rank's blob only (counted through all subfiles)")
	f.source.add(cmd)
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *dumpFlags) run(cmd *cobra.Command, e *cli.Env, path string) error {
	ctx := cmd.Context()
	w := &cdlWriter{e: e}
	var err error
	if w.float, w.double, err = parsePrecision(f.precision); err != nil {
		return err
	}
	switch {
	case f.layout && f.raw:
		return cli.Usagef("--layout and --raw exclude each other")
	case f.header && (f.layout || f.raw || f.coords || len(f.vars) > 0):
		return cli.Usagef("--header prints no values: without --vars, --coords, --layout and --raw")
	case f.coords && len(f.vars) > 0:
		return cli.Usagef("--coords and --vars exclude each other")
	case (f.recs != "" || f.blob >= 0) && !f.layout && !f.raw:
		return cli.Usagef("--records and --blob go with --layout or --raw")
	case cmd.Flags().Changed("blob") && f.blob < 0:
		return cli.Usagef("--blob counts from 0")
	case f.raw && len(f.vars) != 1:
		return cli.Usagef("--raw needs one variable (--vars)")
	}
	r, err := f.source.open(ctx, e, path)
	if err != nil {
		return err
	}
	defer r.Close()
	if !f.layout { // there the maps have names, too
		if err := checkVars(r, f.vars); err != nil {
			return err
		}
	}
	switch {
	case f.layout:
		return f.dumpLayout(ctx, e, r)
	case f.raw:
		return f.dumpRaw(ctx, w, r)
	case f.asJSON:
		return f.dumpJSON(ctx, w, r)
	}
	return f.dumpCDL(ctx, w, r)
}

func parsePrecision(s string) (float, double int, err error) {
	a, b, two := strings.Cut(s, ",")
	if float, err = strconv.Atoi(a); err == nil {
		if double = 15; two {
			double, err = strconv.Atoi(b)
		}
	}
	if err != nil || float < 1 || double < 1 || float > 17 || double > 17 {
		return 0, 0, cli.Usagef("--precision %q, want digits of float and double from 1 to 17, such as 9,17", s)
	}
	return float, double, nil
}

// chosen lists the variables whose values are printed.
func (f *dumpFlags) chosen(r *blob.Reader) (list []int, bytes int64) {
	s := r.Schema()
	if f.header {
		return nil, 0
	}
	for i, v := range s.Vars() {
		coord := slices.ContainsFunc(s.Dims(), func(d cdf5.Dim) bool { return d.Name == v.Name })
		if f.coords && !coord || len(f.vars) > 0 && !slices.Contains(f.vars, v.Name) {
			continue
		}
		n := s.Elems(blob.VarID(i)) * int64(v.Type.Size())
		if v.Record {
			n *= r.Records()
		}
		list = append(list, i)
		bytes += n
	}
	return list, bytes
}

func (f *dumpFlags) dumpCDL(ctx context.Context, w *cdlWriter, r *blob.Reader) error {
	w.header(r)
	list, _ := f.chosen(r)
	if !f.header && len(r.Schema().Vars()) > 0 {
		fmt.Fprintln(w.e.Out, "data:")
	}
	for _, v := range list {
		if err := w.data(ctx, r, v, func(int64) {}); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w.e.Out, "}")
	return err
}

// dumpJSON streams what dumpCDL prints.
func (f *dumpFlags) dumpJSON(ctx context.Context, w *cdlWriter, r *blob.Reader) error {
	d, out := describe(r), w.e.Out
	part := func(v any) ([]byte, error) { return json.Marshal(v) }
	name, err := part(d.Path)
	if err != nil {
		return err
	}
	dims, err := part(d.Dims)
	if err != nil {
		return err
	}
	atts, err := part(jsonAtts(r.Schema().Attributes()))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "{\n  \"name\": %s,\n  \"dims\": %s,\n  \"attributes\": %s,\n  \"variables\": [", name, dims, atts)
	list, _ := f.chosen(r)
	for i := range d.Vars {
		head, err := part(d.Vars[i])
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprint(out, ",")
		}
		fmt.Fprintf(out, "\n    %s", head[:len(head)-1])
		if slices.Contains(list, i) {
			fmt.Fprint(out, `,"data":[`)
			if err := f.jsonData(ctx, w, r, i); err != nil {
				return err
			}
			fmt.Fprint(out, "]")
		}
		fmt.Fprint(out, "}")
	}
	_, err = fmt.Fprint(out, "\n  ]\n}\n")
	return err
}

func (f *dumpFlags) jsonData(ctx context.Context, w *cdlWriter, r *blob.Reader, v int) error {
	sv := &r.Schema().Vars()[v]
	row := int64(1)
	if k := len(sv.Dims); k > 0 {
		if row = r.Schema().Dims()[sv.Dims[k-1]].Len; row == blob.Unlimited {
			row = r.Records()
		}
	}
	fill := fillOf(sv)
	var b []byte
	first := true
	return elements(ctx, r, v, row, func(data any) error {
		if sv.Type == cdf5.Char {
			for text := data.([]byte); len(text) > 0; text = text[row:] {
				s, err := json.Marshal(strings.TrimRight(string(text[:row]), "\x00"))
				if err != nil {
					return err
				}
				if !first {
					w.e.Out.WriteByte(',')
				}
				first = false
				if _, err := w.e.Out.Write(s); err != nil {
					return err
				}
			}
			return nil
		}
		n, _, _ := cdf5.SliceLen(data)
		for i := range n {
			b = b[:0]
			if !first {
				b = append(b, ',')
			}
			first = false
			if _, err := w.e.Out.Write(appendJSONValue(b, data, i, fill)); err != nil {
				return err
			}
		}
		return nil
	})
}
