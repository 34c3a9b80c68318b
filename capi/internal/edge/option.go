package edge

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/subfile"
)

// fields holds the fields of an option string: name=value, separated by commas or white space.
type fields struct {
	set  map[string]string
	used []string
	err  error
}

func parse(s string) *fields {
	f := &fields{set: map[string]string{}}
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' }) {
		name, value, ok := strings.Cut(w, "=")
		if _, twice := f.set[name]; twice || !ok || name == "" || value == "" {
			f.fail("option %q, want name=value with each name once", w)
			continue
		}
		f.set[name] = value
	}
	return f
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = Usage(format, args...)
	}
}

// take returns the value of a field and removes the field.
func (f *fields) take(name string) (string, bool) {
	f.used = append(f.used, name)
	v, ok := f.set[name]
	return v, ok
}

// end returns an error if there are fields that have not been taken.
func (f *fields) end() error {
	if f.err != nil {
		return f.err
	}
	for name := range f.set {
		if !slices.Contains(f.used, name) {
			slices.Sort(f.used)
			return Usage("unknown option %q, want one of: %s", name, strings.Join(f.used, ", "))
		}
	}
	return nil
}

// one sets *p to the value that belongs to a word.
func one[T any](f *fields, name string, p *T, words string, values ...T) {
	v, ok := f.take(name)
	if !ok {
		return
	}
	list := strings.Fields(words)
	i := slices.Index(list, v)
	if i < 0 {
		f.fail("option %s=%s, want one of %s", name, v, strings.Join(list, ", "))
		return
	}
	*p = values[i]
}

func (f *fields) yes(name string, p *bool) {
	one(f, name, p, "yes no true false 1 0", true, false, true, false, true, false)
}

func (f *fields) int64(name string, p *int64) {
	if v, ok := f.take(name); ok {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			f.fail("option %s=%s, want a number >= 0", name, v)
			return
		}
		*p = n
	}
}

func (f *fields) int(name string, p *int) {
	n := int64(*p)
	f.int64(name, &n)
	if n > math.MaxInt32 {
		f.fail("option %s=%d, want at most 2^31-1", name, n)
		return
	}
	*p = int(n)
}

// size reads a number of bytes, with K, M, G or T for powers of 1024.
func (f *fields) size(name string, p *int64) {
	v, ok := f.take(name)
	if !ok {
		return
	}
	digits, shift := v, 0
	if i := strings.IndexByte("KMGT", v[len(v)-1]&^0x20); i >= 0 {
		digits, shift = v[:len(v)-1], 10*(i+1)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		f.fail("option %s=%s, want a number of bytes, optionally with K, M, G or T", name, v)
		return
	}
	*p = n << shift
}

func (f *fields) grouping(p *subfile.Grouping) {
	if v, ok := f.take("grouping"); ok {
		g, err := subfile.ParseGrouping(v)
		if err != nil {
			f.fail("option grouping=%s: %v", v, err)
			return
		}
		*p = g
	}
}

func (f *fields) compress(p *blob.Compress) {
	if v, ok := f.take("compress"); ok {
		if p.Set(v) != nil {
			f.fail("option compress=%s, want off, auto, zstd or shuffle+zstd, optionally with :1 to :4 except for off", v)
		}
	}
}

func (f *fields) durability(p *blob.Durability) {
	one(f, "durability", p, "commit data none", blob.DurableCommit, blob.DurableData, blob.DurableNone)
}

// WriteOptions reads the options of create and append. Puts copy by default.
func WriteOptions(s string) (*blob.Options, error) {
	f := parse(s)
	o := &blob.Options{}
	if v, ok := f.take("layout"); ok {
		if o.Layout.Set(v) != nil || o.Layout == blob.Canonical {
			f.fail("option layout=%s, want variable or process", v)
		}
	}
	f.grouping(&o.Grouping)
	f.int("subfiles", &o.Subfiles)
	f.int64("records", &o.Records)
	one(f, "retain", &o.Retain, "copy flush close", blob.CopyOnPut, blob.LendUntilFlush, blob.LendUntilClose)
	f.durability(&o.Durability)
	one(f, "commit", &o.Renames, "auto rename manifest", 0, math.MaxInt, -1)
	one(f, "incomplete", &o.FillIncomplete, "hold fill", false, true)
	seconds := int64(0)
	f.int64("heartbeat", &seconds)
	o.Heartbeat = time.Duration(min(max(seconds, -1), 1<<20)) * time.Second
	f.yes("force", &o.Force)
	f.yes("repeats", &o.Repeats)
	f.yes("wide_maps", &o.WideMaps)
	f.compress(&o.Compress)
	f.size("memory", &o.Memory)
	buffer := int64(o.Buffer)
	if f.size("buffer", &buffer); buffer > 1<<30 {
		f.fail("option buffer=%d, want 64K to 1G", buffer)
	} else {
		o.Buffer = int(buffer)
	}
	f.int("aggregators", &o.Aggregators)
	f.size("own_min", &o.OwnMin)
	f.size("stripe_size", &o.Stripe.Size)
	f.int("stripe_count", &o.Stripe.Count)
	f.int("workers", &o.Workers)
	f.int("max_open", &o.MaxOpen)
	if err := f.end(); err != nil {
		return nil, err
	}
	return o, o.Validate()
}

// Reading holds the options of open.
type Reading struct {
	blob.OpenOptions
	Collective bool // ranks read together
}

// ReadOptions reads the options of open.
func ReadOptions(s string) (*Reading, error) {
	f := parse(s)
	o := new(Reading)
	f.yes("allow_missing", &o.AllowMissing)
	f.yes("missing_later", &o.MissingLater)
	one(f, "verify", &o.Verify, "once whole always never", blob.VerifyOnce, blob.VerifyWhole, blob.VerifyAlways, blob.VerifyNever)
	f.size("memory", &o.Memory)
	f.int("workers", &o.Workers)
	f.int("max_open", &o.MaxOpen)
	f.yes("collective", &o.Collective)
	if err := f.end(); err != nil {
		return nil, err
	}
	return o, o.Validate()
}

// ConvertOptions reads the options of convert.
func ConvertOptions(s string) (*blob.ConvertOptions, error) {
	f := parse(s)
	o := new(blob.ConvertOptions)
	if v, ok := f.take("format"); ok {
		switch v {
		case "cdf5":
			o.Version = cdf5.CDF5
		case "cdf2":
			o.Version = cdf5.CDF2
		case "cdf1":
			o.Version = cdf5.CDF1
		case "variable":
			o.Blobs = true
		case "process":
			o.Blobs, o.Layout = true, blob.ProcessCentric
		default:
			f.fail("option format=%s, want one of cdf5, cdf2, cdf1, variable, process", v)
		}
	}
	if v, ok := f.take("vars"); ok {
		o.Vars = strings.Split(v, ":")
	}
	var first, end int64 = 0, -1
	f.int64("first_record", &first)
	f.int64("end_record", &end)
	if _, ok := f.set["first_record"]; ok && end < 0 {
		f.fail("option first_record requires end_record")
	}
	if end >= 0 {
		o.Records = &blob.Range{First: first, End: end}
	}
	f.int("ranks", &o.Ranks)
	f.grouping(&o.Grouping)
	f.int("subfiles", &o.Subfiles)
	f.yes("wide_maps", &o.WideMaps)
	f.compress(&o.Compress)
	f.yes("drop_uncovered", &o.DropUncovered)
	f.yes("fill_missing", &o.FillMissing)
	f.yes("zero_fill", &o.ZeroFill)
	f.yes("force", &o.Force)
	f.size("memory", &o.Memory)
	f.int("workers", &o.Workers)
	f.durability(&o.Durability)
	if err := f.end(); err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("convert: %w", err)
	}
	return o, nil
}

// CheckOptions reads the options of check.
func CheckOptions(s string) (*blob.CheckOptions, error) {
	f := parse(s)
	o := new(blob.CheckOptions)
	f.yes("quick", &o.Quick)
	f.int("workers", &o.Workers)
	f.int("max_open", &o.MaxOpen)
	return o, f.end()
}
