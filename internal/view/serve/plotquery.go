package serve

import (
	"context"
	"net/url"
	"strconv"

	"blobio/internal/base/fault"
	"blobio/internal/cdf5/slab"
	"blobio/internal/draw/fieldplot"
)

// maxPlotWidth is the maximum width of pictures, in points: one of this width needs 60 MiB.
const maxPlotWidth = 1200

// plotOptions parses the parameters of a URL. var is the variable. rec and lev select a record and a level. d=dim,index selects
// in any dimension (repeatable; a number with a point is a coordinate value). Others are kind, x, y, width (default 720), colors,
// log, min and max, plate, dark.
func plotOptions(ctx context.Context, data *fieldplot.Data, q url.Values) (*fieldplot.Options, error) {
	o := &fieldplot.Options{Width: 720}
	var chosen []string
	for key, list := range q {
		v := list[0]
		if v == "" { // an empty form field
			continue
		}
		if key != "d" && len(list) > 1 {
			return nil, fault.Usage("parameter %q occurs %d times, want once", key, len(list))
		}
		var err error
		switch key {
		case "var":
			o.Var = v
		case "rec", "lev", "d", "px", "py", "format":
		case "kind":
			o.Kind = fieldplot.Kind(v)
		case "x":
			o.X = v
		case "y":
			o.Y = v
		case "colors":
			o.Colors = v
		case "width":
			if o.Width, err = strconv.Atoi(v); err != nil || o.Width > maxPlotWidth || o.Width < 1 {
				return nil, fault.Usage("width %q, want a number up to %d", v, maxPlotWidth)
			}
		case "min":
			o.Min, err = strconv.ParseFloat(v, 64)
		case "max":
			o.Max, err = strconv.ParseFloat(v, 64)
		case "log":
			o.Log, err = flag(v)
		case "plate":
			o.Plate, err = flag(v)
		case "dark":
			o.Dark, err = flag(v)
		default:
			return nil, fault.Usage("unknown parameter %q", key)
		}
		if err != nil {
			return nil, fault.Usage("%s=%q, want a number", key, v)
		}
	}
	if (q.Get("min") == "") != (q.Get("max") == "") || q.Get("min") != "" && !(o.Min < o.Max) {
		return nil, fault.Usage("min and max are not a range, want both, with min < max")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	chosen = append(chosen, q["d"]...)
	for _, x := range []struct{ key, kind, dim string }{{"rec", "record", fieldplot.RecordDim(data.Reader, o.Var)}, {"lev", "level", fieldplot.LevelDim(data, o.Var)}} {
		if v := q.Get(x.key); v != "" {
			if x.dim == "" {
				return nil, fault.Usage("%s=%q, but %s has no %s dimension", x.key, v, o.Var, x.kind)
			}
			chosen = append(chosen, x.dim+","+v)
		}
	}
	const most = 32
	if len(chosen) > most {
		return nil, fault.Usage("%d selections, want at most %d", len(chosen), most)
	}
	var args []slab.Arg
	for _, text := range chosen {
		a, err := slab.Parse(text)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	var err error
	if len(args) > 0 {
		o.At, err = fieldplot.Select(ctx, data, o.Var, args)
	}
	return o, err
}

// flag parses 1 or true, 0 or false.
func flag(s string) (bool, error) { return strconv.ParseBool(s) }
