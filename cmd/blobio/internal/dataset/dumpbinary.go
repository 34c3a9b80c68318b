package dataset

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/base/elem"
	"blobio/internal/cli"
)

type binaryFlags struct {
	order  string // byte order; "": no binary output
	output string
	force  bool
}

func (f *binaryFlags) add(cmd *cobra.Command) {
	cli.ChoiceFlag(cmd, &f.order, "binary", "", "write the values of one variable (-v) in canonical order, as binary numbers in this byte order", "native", "little", "big")
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "", "--binary: output file (default: standard output)")
	fl.BoolVar(&f.force, "force", false, "--binary: replace an existing file")
}

// binaryWindow is the number of bytes of values in memory at once.
const binaryWindow = 8 << 20

// dumpBinary writes the values of one variable.
func (f *dumpFlags) dumpBinary(ctx context.Context, e *cli.Env, r *blob.View) error {
	name := f.vars[0]
	id, _ := r.Schema().VarID(name)
	sv := &r.Schema().Vars()[id]
	h := r.Header()
	shape := h.Shape(int(id))
	if sv.Record {
		shape = append([]int64{r.Records()}, shape...)
	}
	if f.output == "" {
		if f.asJSON {
			return cli.Usagef("--binary --json needs --output, because the values go to standard output")
		}
		_, err := f.writeValues(ctx, e, r, sv, shape, e.Out)
		return err
	}
	var n int64
	if _, err := cli.WriteFile(ctx, f.output, f.force, func(w io.Writer) (err error) {
		n, err = f.writeValues(ctx, e, r, sv, shape, w)
		return err
	}); err != nil {
		return err
	}
	return e.Tell(f.asJSON, map[string]any{"path": f.output, "bytes": n, "variable": name, "type": sv.Type.String(), "shape": shape, "order": f.byteOrder()},
		"%s: %s %s%v, %s endian, %d bytes", f.output, name, sv.Type, shape, f.byteOrder(), n)
}

// byteOrder returns big or little.
func (f *binaryFlags) byteOrder() string {
	if f.order == "big" || f.order == "native" && elem.HostBig {
		return "big"
	}
	return "little"
}

// writeValues writes all values, some rows of a record at a time.
func (f *dumpFlags) writeValues(ctx context.Context, e *cli.Env, r *blob.View, sv *blob.Variable, shape []int64, w io.Writer) (written int64, err error) {
	size := int64(sv.Type.Size())
	total := size
	for _, n := range shape {
		total *= n
	}
	p := e.NewProgress()
	defer p.End()
	buf := make([]byte, 0, min(binaryWindow, total))
	start, count := make([]int64, len(shape)), append([]int64{}, shape...)
	// A piece consists of whole slabs of the trailing dimensions. It has as many slabs along the preceding dimension as fit in the
	// window, and one index of each earlier dimension.
	k, row := len(shape), size
	for k > 0 && row*shape[k-1] <= binaryWindow {
		k--
		row *= shape[k]
	}
	for i := range k {
		count[i] = 1
	}
	step := int64(1)
	if k > 0 {
		step = max(1, binaryWindow/row)
	}
	for written < total {
		if err := ctx.Err(); err != nil {
			return written, err
		}
		n := row
		if k > 0 {
			count[k-1] = min(step, shape[k-1]-start[k-1])
			n *= count[k-1]
		}
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		if err := r.ReadBytes(ctx, sv.Name, start, count, buf[:n], f.byteOrder() == "big"); err != nil {
			return written, err
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return written, err
		}
		written += n
		p.At("dump", written, total)
		for i := k - 1; i >= 0; i-- {
			if start[i] += count[i]; start[i] < shape[i] {
				break
			}
			start[i] = 0
		}
	}
	return written, nil
}
