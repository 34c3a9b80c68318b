package dataset

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/cli"
	"blobio/internal/view/cf"
	"blobio/internal/view/cftime"
)

type dumpFlags struct {
	source sourceFlags
	partFlags
	header      bool
	coords      bool
	precision   string
	dates       bool
	xml, stored bool
	layout, raw bool
	recs        string
	blob        int
	asJSON      bool
	binaryFlags
}

func NewDump(e *cli.Env) *cobra.Command {
	var f dumpFlags
	cmd := &cobra.Command{
		Use:   "dump PATH",
		Short: "Print a dataset as CDL, or the location of its bytes",
		Long: `Print a dataset as ncdump prints the equivalent ordinary netCDF file: canonical names,
dimensions and attributes, then values in canonical order. Fill values are printed as _.
ncgen can read the output. Memory use is bounded.

-d and -C select a part of the dataset, as in "blobio convert". Without -C, the coordinates
of the selected variables are included: the coordinate variables of their dimensions,
variables named by CF attributes, and latitudes and longitudes.
` + dimHelp + `

--xml prints the header as NcML. --stored prints the header of one subfile as it is stored,
including the maps and the dimensions of blobs. The subfile is PATH, or the first one if
PATH is a base name. --stored also prints the values of the maps (Dk.nreqs, ...), unless -h
is given. --layout prints the file, offset and length of the headers, the maps and each blob
of each variable. --raw prints the blobs of one variable as they are stored, in map order.
--binary writes the values of one variable without any text.

Other kinds of files are recognised by content and passed to the verb of their family, which
has its own flags. See "blobio --help".

JSON: {name, dims, variables: [{..., data: [...]}], attributes}. Fill values are null. With -t,
times are strings. Text that is not valid UTF-8 is {"latin1": "..."}, where each character
from U+0000 to U+00FF is one byte.
With --layout: {"extents": [{set, subfile, file, name, rank, record, offset, bytes}]}.
Compressed files also have content and codec. rank or record is -1 if it does not apply.
With --raw: {"blobs": [{record, subfile, rank, runs: [[offset, length]], data}]}.`,
		Example: `  blobio dump -h F_h0.nc                     # header only
  blobio dump -v T850,PS F_h1.nc             # header and the values of two variables
  blobio dump -v U -d lev,40 -d time,0,9,3 F_h1.nc    # one level, every third of ten records
  blobio dump -v T850 -d lat,30.,60. -d lon,350.,10. F_h1.nc  # by value
  blobio dump -t -v time F_h1.nc             # times as dates
  blobio dump --stored -h F_h1.h5            # Dk.nreqs, decomposition_ID, ...
  blobio dump --binary little -o T.f32 -v T -d time,0 F_h0.nc
  blobio dump -p 9,17 -v lat F_h1.nc         # all digits that the types can hold
  blobio dump F_h1.nc | ncgen -k cdf5 -o again.nc
  blobio dump --layout -v U --records 0 F_h1.nc  # location of the first record of U
  blobio dump --raw -v U --records 0 --blob 3 F_h1.nc`,
		Args: cli.ExactArgs(1, "one dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args[0])
		},
		ValidArgsFunction: nil,
	}
	fl := cmd.Flags()
	fl.Bool("help", false, "help for dump") // -h already has another meaning, as in ncdump
	fl.BoolVarP(&f.header, "header", "h", false, "print only the header")
	fl.BoolVarP(&f.coords, "coords", "c", false, "print the header and the values of coordinate variables")
	f.partFlags.add(cmd, "print the values of only these variables, such as T,PS")
	f.addAlone(cmd)
	fl.BoolVarP(&f.dates, "times", "t", false, "print times as dates, such as 2000-01-31 06:30")
	fl.BoolVarP(&f.xml, "xml", "x", false, "print the header as NcML")
	fl.BoolVar(&f.stored, "stored", false, "print the header and the maps of a subfile as they are stored")
	f.binaryFlags.add(cmd)
	fl.StringVarP(&f.precision, "precision", "p", "7,15", "significant digits of float and double values")
	fl.BoolVar(&f.layout, "layout", false, "print the file, offset and length of headers, maps and blobs")
	fl.BoolVar(&f.raw, "raw", false, "print the blobs of one variable (-v), in map order")
	recordsFlag(cmd, &f.recs, "--layout, --raw: only these records: FIRST:END (END excluded; either may be omitted), or one number (default for --raw: 0)")
	fl.IntVar(&f.blob, "blob", -1, "--layout, --raw: only the blob of this rank (numbered through all subfiles)")
	f.source.add(cmd)
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *dumpFlags) run(cmd *cobra.Command, e *cli.Env, path string) error {
	ctx := cmd.Context()
	w := &cdlWriter{e: e, dates: f.dates, noted: map[string]bool{}}
	var err error
	if w.float, w.double, err = parsePrecision(f.precision); err != nil {
		return err
	}
	if err := f.conflicts(cmd); err != nil {
		return err
	}
	r, err := f.source.open(ctx, e, path)
	if err != nil {
		return err
	}
	defer r.Close()
	switch {
	case f.layout: // -v of --layout may also name maps
		return f.dumpLayout(ctx, e, r)
	case f.stored:
		return f.dumpStored(ctx, w, r, path)
	}
	part, err := f.part(ctx, r)
	if err != nil {
		return err
	}
	switch {
	case f.raw:
		return f.dumpRaw(ctx, w, r)
	case f.order != "":
		return f.dumpBinary(ctx, e, part)
	case f.xml:
		return dumpXML(e.Out, path, part.Header(), w)
	case f.asJSON:
		return f.dumpJSON(ctx, w, part)
	}
	return f.dumpCDL(ctx, w, part)
}

// part returns what to print: everything, or the selection of -d and -C.
func (f *dumpFlags) part(ctx context.Context, r *blob.Reader) (*blob.View, error) {
	vars, sub, err := f.choose(ctx, r)
	if err != nil {
		return nil, err
	}
	if !f.given() {
		vars = nil
	}
	return r.View(vars, sub)
}

// conflicts returns an error for flags that conflict.
func (f *dumpFlags) conflicts(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	// At most one of these forms can replace CDL. Each form allows only the flags in its list.
	forms := map[string][]string{"layout": {"vars", "records", "blob", "json"}, "raw": {"vars", "records", "blob", "json", "precision"}, "stored": {"header", "json", "precision"},
		"xml": {"vars", "dimension", "no-coords", "header", "precision"}, "binary": {"vars", "dimension", "output", "force", "json"}}
	form := ""
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		if !given(name) {
			continue
		}
		if form != "" {
			return cli.Usagef("--%s and --%s cannot be combined", form, name)
		}
		form = name
	}
	if form != "" {
		for _, name := range []string{"vars", "dimension", "no-coords", "header", "coords", "precision", "times", "records", "blob", "output", "force", "json"} {
			if given(name) && !slices.Contains(forms[form], name) {
				return cli.Usagef("--%s cannot be combined with --%s", name, form)
			}
		}
	}
	switch {
	case f.header && f.coords || f.header && len(f.vars) > 0 && !f.given() && form == "":
		return cli.Usagef("--header prints no values and cannot be combined with --vars, --coords, --layout or --raw")
	case f.coords && len(f.vars) > 0:
		return cli.Usagef("--coords and --vars cannot be combined")
	case (f.recs != "" || f.blob >= 0) && !f.layout && !f.raw:
		return cli.Usagef("--records and --blob need --layout or --raw")
	case given("blob") && f.blob < 0:
		return cli.Usagef("--blob must be 0 or more")
	case (f.raw || f.order != "") && len(f.vars) != 1:
		return cli.Usagef("--%s needs one variable (--vars)", form)
	case f.order == "" && (f.output != "" || f.force):
		return cli.Usagef("--output and --force need --binary")
	}
	return nil
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

// chosen returns the variables whose values are printed.
func (f *dumpFlags) chosen(r *blob.View) (list []int) {
	s := r.Schema()
	if f.header {
		return nil
	}
	for i, v := range s.Vars() {
		coord := slices.ContainsFunc(s.Dims(), func(d cdf5.Dim) bool { return d.Name == v.Name })
		if f.coords && !coord || !f.given() && len(f.vars) > 0 && !slices.Contains(f.vars, v.Name) {
			continue
		}
		list = append(list, i)
	}
	return list
}

func (f *dumpFlags) dumpCDL(ctx context.Context, w *cdlWriter, r *blob.View) error {
	w.header(cdlTitle(r.Base()), r.Header(), func(v int) *cftime.Units { return w.times(r, &r.Schema().Vars()[v]) })
	list := f.chosen(r)
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

// dumpJSON streams the content of dumpCDL as JSON.
func (f *dumpFlags) dumpJSON(ctx context.Context, w *cdlWriter, r *blob.View) error {
	d, out := describeVars(r), w.e.Out
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
	list := f.chosen(r)
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

func (f *dumpFlags) jsonData(ctx context.Context, w *cdlWriter, r *blob.View, v int) error {
	sv := &r.Schema().Vars()[v]
	row, times := rowOf(r, sv), w.times(r, sv)
	fill, mean := fillOf(sv), cf.MeaningOf(sv)
	var b []byte
	first := true
	return elements(ctx, r, v, row, func(data any) error {
		if sv.Type == cdf5.Char {
			for text := data.([]byte); len(text) > 0; text = text[row:] {
				s, err := json.Marshal(jsonText(text[:row]))
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
		var dates []float64
		if times != nil {
			dates = make([]float64, n)
			mean.Decode(dates, data)
		}
		for i := range n {
			b = b[:0]
			if !first {
				b = append(b, ',')
			}
			first = false
			ok := false
			if times != nil && !isFill(data, i, fill) {
				b, ok = appendDate(b, times, dates[i])
			}
			if !ok {
				b = appendJSONValue(b, data, i, fill)
			}
			if _, err := w.e.Out.Write(b); err != nil {
				return err
			}
		}
		return nil
	})
}
