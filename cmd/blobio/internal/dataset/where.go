package dataset

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/cli"
)

// NewWhere makes the verb that finds the bytes of one element.
func NewWhere(e *cli.Env) *cobra.Command {
	var source sourceFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "where VAR[I,J,...] DATASET",
		Short: "Find the file, rank and byte offset of one element",
		Long: `Find one element of a variable by its indices in canonical order: first the record, if the
variable has records, then the other dimensions, slowest first. Negative indices count from
the end. The output is the value, the file, the rank that wrote the element, the request in
the map of that rank, and the byte offset. For compressed data, the output has the offset of
the chunk that contains the element instead.

Exit codes: 0 found, 1 no rank wrote the element, or data are damaged, 2 could not search.

In JSON, request is the index of the request in the map of the rank, from 0. run is the
range of canonical elements of the request. element is the index in the blob. offset and
bytes locate the element in the file. Compressed data also have codec, content (decompressed
bytes of the chunk) and within (offset of the element in the decompressed chunk). Keys that
do not apply are omitted. A variable that is not decomposed has no rank and no request.`,
		Example: `  blobio where 'T[0,40,123]' F_h0.nc
  blobio where P0 F_h0.h5
  blobio where --json 'U[2,71,-1]' F_h1.h5 | jq .offset`,
		Args: cli.ExactArgs(2, "an element such as T[0,40,1234], and a dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, index, err := parseElement(args[0])
			if err != nil {
				return err
			}
			r, err := source.open(cmd.Context(), e, args[1])
			if err != nil {
				return err
			}
			defer r.Close()
			return where(cmd, e, r, name, index, asJSON)
		},
	}
	source.add(cmd)
	cli.JSONFlag(cmd, &asJSON, whereabouts{})
	return cmd
}

// parseElement parses VAR[I,J,...]; a scalar has no indices.
func parseElement(s string) (name string, index []int64, err error) {
	bad := func() (string, []int64, error) {
		return "", nil, cli.Usagef("element %q, want a variable and its indices such as T[0,40,1234]", s)
	}
	open := strings.LastIndexByte(s, '[')
	if open < 0 {
		return s, nil, nil
	}
	text, ok := strings.CutSuffix(s[open+1:], "]")
	if !ok || open == 0 {
		return bad()
	}
	if strings.TrimSpace(text) == "" {
		return s[:open], nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		i, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil {
			return bad()
		}
		index = append(index, i)
	}
	return s[:open], index, nil
}

// whereabouts describes an element for JSON.
type whereabouts struct {
	Name    string    `json:"variable"`
	Index   []int64   `json:"index"`
	Type    string    `json:"type"`
	Owned   bool      `json:"owned"`
	Value   jsonValue `json:"value"`
	File    string    `json:"file,omitempty"`
	Set     *int      `json:"set,omitempty"`
	Subfile *int      `json:"subfile,omitempty"`
	Rank    *int      `json:"rank,omitempty"`
	Also    []int     `json:"also,omitempty"`
	Record  *int64    `json:"record,omitempty"`
	Request *int64    `json:"request,omitempty"`
	Run     []int64   `json:"run,omitempty"`
	Element *int64    `json:"element,omitempty"`
	Offset  *int64    `json:"offset,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`
	Order   string    `json:"order,omitempty"`
	Codec   string    `json:"codec,omitempty"`
	Content int64     `json:"content,omitempty"`
	Within  *int64    `json:"within,omitempty"`
}

// jsonValue is a slice of one element that marshals as the element.
type jsonValue struct {
	data any
	text bool
}

// MarshalJSON implements json.Marshaler.
func (v jsonValue) MarshalJSON() ([]byte, error) {
	if b, ok := v.data.([]byte); ok && v.text {
		return json.Marshal(string(rune(b[0])))
	}
	return appendJSONValue(nil, v.data, 0, nil), nil
}

func where(cmd *cobra.Command, e *cli.Env, r *blob.Reader, name string, index []int64, asJSON bool) error {
	ctx := cmd.Context()
	if err := checkVars(r, []string{name}); err != nil {
		return err
	}
	id, _ := r.Schema().VarID(name)
	for i, d := range r.Schema().Vars()[id].Dims {
		if dim := r.Schema().Dims()[d]; i < len(index) && index[i] < 0 { // negative: from the end, as in -d
			n := dim.Len
			if i == 0 && r.Schema().Vars()[id].Record {
				n = r.Records()
			}
			if index[i] += n; index[i] < 0 && n > 0 {
				return cli.Usagef("%s: index %d of dimension %q of %q, want %d to %d", r.Base(), index[i]-n, dim.Name, name, -n, n-1)
			}
		}
	}
	x, err := r.Inspect().Where(ctx, name, index)
	if err != nil {
		return err
	}
	sv := &r.Schema().Vars()[id]
	one := make([]int64, len(index))
	for i := range one {
		one[i] = 1
	}
	data := cdf5.NewSlice(sv.Type, 1)
	if err := r.Read(ctx, name, index, one, data); err != nil {
		return err
	}
	d := whereabouts{Name: name, Index: append([]int64{}, index...), Type: sv.Type.String(), Value: jsonValue{data, sv.Type == cdf5.Char}, Owned: x != nil}
	if x == nil {
		e.Code = cli.Findings
	} else {
		d.fill(x, sv)
	}
	if asJSON {
		return e.PrintJSON(d)
	}
	return d.print(e)
}

// fill sets the fields that locate the element.
func (d *whereabouts) fill(x *blob.Spot, sv *blob.Variable) {
	d.File, d.Set, d.Subfile, d.Offset, d.Bytes, d.Element = x.File, &x.Set, &x.Subfile, &x.Offset, x.Bytes, &x.Pos
	if x.Record >= 0 {
		d.Record = &x.Record
	}
	if x.Rank >= 0 {
		d.Rank, d.Also, d.Request, d.Run = &x.Rank, x.Also, &x.Request, []int64{x.Run.Offset, x.Run.Length}
	}
	if sv.Type.Size() > 1 {
		d.Order = map[bool]string{true: "big", false: "little"}[x.Big]
	}
	if x.Codec != "" {
		d.Codec, d.Content, d.Within = x.Codec, x.Content, &x.Within
	}
}

func (d *whereabouts) print(e *cli.Env) error {
	value, err := d.Value.MarshalJSON()
	if err != nil {
		return err
	}
	element := cli.Plain(d.Name)
	if len(d.Index) > 0 {
		element += strings.ReplaceAll(fmt.Sprint(d.Index), " ", ",")
	}
	fmt.Fprintf(e.Out, "%s = %s (%s)\n", element, value, d.Type)
	if !d.Owned {
		fmt.Fprintln(e.Out, "no rank wrote this element; it reads as the fill value")
		return nil
	}
	fmt.Fprintf(e.Out, "file:     %s\n", cli.Plain(d.File))
	if d.Rank == nil {
		fmt.Fprintf(e.Out, "element:  %d%s; the variable is not decomposed\n", *d.Element, ofRecord(d.Record))
	} else {
		fmt.Fprintf(e.Out, "rank:     %d, element %d of the blob%s\n", *d.Rank, *d.Element, ofRecord(d.Record))
		fmt.Fprintf(e.Out, "request:  %d of the rank, %s from canonical element %d\n", *d.Request, cli.Plural(d.Run[1], "element"), d.Run[0])
		if len(d.Also) > 0 {
			fmt.Fprintf(e.Out, "also by:  ranks %v (their values are not read)\n", d.Also)
		}
	}
	if d.Codec == "" {
		order := ""
		if d.Order != "" {
			order = ", " + d.Order + " endian"
		}
		_, err = fmt.Fprintf(e.Out, "bytes:    %d at %d (%#x)%s\n", d.Bytes, *d.Offset, *d.Offset, order)
		return err
	}
	_, err = fmt.Fprintf(e.Out, "chunk:    %d bytes at %d (%#x), %s, %d bytes decompressed; the element begins at decompressed byte %d\n", d.Bytes, *d.Offset, *d.Offset, d.Codec, d.Content, *d.Within)
	return err
}

func ofRecord(rec *int64) string {
	if rec == nil {
		return ""
	}
	return fmt.Sprintf(" of record %d", *rec)
}
