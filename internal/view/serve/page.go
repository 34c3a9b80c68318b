package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/cli"
	"blobio/internal/draw/chart"
	"blobio/internal/draw/fieldplot"
	"blobio/internal/view/tree"
)

// sight is the JSON answer of /view: how a variable can be shown.
type sight struct {
	*fieldplot.Sight
	Width  float64     `json:"width"` // of the picture, in points
	Height float64     `json:"height"`
	Title  string      `json:"title"`
	Notes  []string    `json:"notes"`
	Range  *[2]float64 `json:"range,omitempty"` // of the colours
}

// view sends the page of a dataset: its content, the findings of a quick check, and a picture of one variable. The parameters of
// plot select the picture, so that a link preserves it. As JSON, view lists the choices for the variable.
func (s *Server) view(a *answer, r *http.Request, name string) error {
	q := r.URL.Query()
	if wantsJSON(r) {
		return s.sight(a, r, name, q)
	}
	give, err := s.memory.take(r.Context(), 4<<20)
	if err != nil {
		return err
	}
	defer give()
	set, err := s.dataset(r.Context(), name)
	if err != nil {
		return s.orList(a, name, err)
	}
	defer set.Release()
	p, err := s.page(r.Context(), name, set, q)
	if err != nil {
		return err
	}
	a.Header().Add("Vary", "Accept")
	p.Python = python(r, name, set)
	return sendPage(a, "view.html", p)
}

// sight draws the picture in advance of the page's request, and describes it.
func (s *Server) sight(a *answer, r *http.Request, name string, q url.Values) error {
	d, err := s.open(r.Context(), name, q, drawMemory)
	if err != nil {
		return err
	}
	defer d.close()
	pic, err := s.atlas.Draw(r.Context(), d.data, d.o)
	if err != nil {
		return err
	}
	o := *d.o
	o.Kind = pic.Kind // the coordinates may have been invalid positions
	see, err := fieldplot.See(r.Context(), d.data, &o)
	if err != nil {
		return err
	}
	out := sight{Sight: see, Title: pic.Title, Notes: pic.Notes, Range: pic.Range}
	out.Width, out.Height = pic.Size()
	a.Header().Add("Vary", "Accept")
	return d.json(a, out)
}

// page has the data for the template of a page.
type page struct {
	Path, Name, Up    string
	Title             string
	NetCDF, DAP, Zarr string
	Python            []fact
	Facts             []fact
	Dims              []dimRow
	Vars              []varRow
	Atts              []attRow
	Findings          []findingRow
	Checked           string // outcome of the quick check
	Drawable          []string
	Var               string
	Kinds, Kind       any
	Ramps             []string
	Picture           []source
	Src, Alt          string
	PlotURL, SightURL string
	ValueURL          string
	Query             map[string]string
	Wrong             string // the reason why there is no picture
	Log               bool
	Events            string // URL of the events; "": nothing changes
	ID                string
	State             string // status of the writer, if Events is set
}

type fact struct{ Name, Text string }

type dimRow struct {
	Name, Len string
	Unlimited bool
}

type varRow struct {
	Name, Type, Dims, Unit, Text string
	Plot                         string // the page with its picture
	Atts                         []attRow
}

type attRow struct{ Name, Text string }

type findingRow struct{ Severity, Text string }

// source is a picture for some screens.
type source struct{ Media, URL string }

// page collects the data of the page.
func (s *Server) page(ctx context.Context, name string, set *tree.Dataset, q url.Values) (*page, error) {
	r := set.Reader()
	sch := r.Schema()
	p := &page{Path: fault.Printable(name), Name: fault.Printable(path.Base(name)), Up: link("files", path.Dir(name)) + "/", NetCDF: link("files", name), DAP: link("dap", name), Zarr: link("zarr", name)}
	if path.Dir(name) == "." {
		p.Up = "/"
	}
	p.PlotURL, p.ValueURL, p.SightURL = link("plot", name), link("value", name), link(pageWord, name)
	p.Facts = facts(set)
	if set.Growing() {
		p.ID, p.Events = set.ID(), link("events", name)
		w, err := s.tree.Watch(name)
		if err != nil {
			return nil, err
		}
		st, err := w.Look()
		if err != nil {
			return nil, err
		}
		p.State = fault.Printable(st.String())
	}
	for _, d := range sch.Dims() {
		n := d.Len
		if n == blob.Unlimited {
			n = r.Records()
		}
		p.Dims = append(p.Dims, dimRow{fault.Printable(d.Name), chart.Count(n), d.Len == blob.Unlimited})
	}
	p.Drawable = fieldplot.Drawable(r)
	can := map[string]bool{}
	for _, n := range p.Drawable {
		can[n] = true
	}
	for i := range sch.Vars() {
		v := &sch.Vars()[i]
		row := varRow{Name: fault.Printable(v.Name), Type: v.Type.String(), Dims: dimNames(sch, v), Unit: text(v.Atts, "units"), Text: text(v.Atts, "long_name"), Atts: attRows(v.Atts)}
		if can[v.Name] {
			row.Plot = p.SightURL + "?" + url.Values{"var": {v.Name}}.Encode()
		}
		p.Vars = append(p.Vars, row)
	}
	p.Atts = attRows(sch.Attributes())
	list, how := s.checks.of(ctx, s.tree, name, set)
	p.Checked = how
	for _, f := range list {
		severity := f.Severity.String()
		text := strings.TrimPrefix(f.String(), severity+": ") // the page shows the severity separately
		p.Findings = append(p.Findings, findingRow{severity, fault.Printable(s.log.relative(text))})
	}
	return p, s.picture(ctx, p, name, set, q)
}

// picture selects the page's first picture: from the URL, or a map of a variable. If no picture is possible, the page shows the
// reason. But a resource shortage is an error.
func (s *Server) picture(ctx context.Context, p *page, name string, set *tree.Dataset, q url.Values) error {
	data := &fieldplot.Data{Reader: set.Reader(), ID: name + "\x00" + set.ID()}
	if q.Get("var") == "" {
		q = url.Values{"var": {fieldplot.First(data)}}
	}
	p.Var = q.Get("var")
	p.Kinds, p.Kind = fieldplot.Kinds, fieldplot.Kind(q.Get("kind"))
	p.Log, _ = flag(q.Get("log"))
	for _, r := range chart.Ramps {
		p.Ramps = append(p.Ramps, r.Name)
	}
	p.Query = map[string]string{}
	for _, k := range []string{"kind", "rec", "lev", "colors", "min", "max"} {
		p.Query[k] = q.Get(k)
	}
	p.Title = p.Name
	if p.Var == "" {
		p.Wrong = "No variable has more than one number to draw."
		return nil
	}
	o, err := plotOptions(ctx, data, q)
	if err == nil {
		err = fieldplot.Check(data, o)
	}
	if fault.Exhausted(err) {
		return err
	}
	if err != nil {
		p.Wrong = s.log.textOf(err)
		return nil
	}
	p.Title = p.Var + " in " + p.Name
	at := func(width string, dark bool) string {
		u := url.Values{}
		for k, v := range q {
			u[k] = v
		}
		u.Set("width", width)
		if dark {
			u.Set("dark", "1")
		}
		return p.PlotURL + "?" + u.Encode()
	}
	p.Picture = []source{
		{"(max-width: 600px) and (prefers-color-scheme: dark)", at("380", true)}, {"(max-width: 600px)", at("380", false)},
		{"(prefers-color-scheme: dark)", at("720", true)},
	}
	p.Src, p.Alt = at("720", false), "picture of "+p.Var
	return nil
}

// facts describes a dataset as a whole.
func facts(set *tree.Dataset) (out []fact) {
	r := set.Reader()
	add := func(name, text string) { out = append(out, fact{name, text}) }
	switch {
	case set.Form() != "":
		add("What it is", set.Form()+", shown as a netCDF file")
	case r.Form().Layout == blob.Canonical:
		add("Layout", "ordinary netCDF file, "+r.Form().Version.String())
	default:
		how := r.Form().Layout.String() + " blobs"
		if r.Form().Compressed {
			how += ", compressed"
		}
		add("Layout", how)
		files, ranks := r.Subfiles()
		add("Written by", plural(int64(ranks), "rank")+" into "+plural(int64(files), "subfile"))
		if gone := r.Missing(); len(gone) > 0 {
			add("Missing", plural(int64(len(gone)), "subfile"))
		}
		if r.Manifest() == nil {
			add("Manifest", "none: another program wrote it, and there are no checksums")
		}
	}
	if left := r.LeftOut(); len(left) > 0 {
		add("Left out", plural(int64(len(left)), "member")+" of the netCDF-4 file that CDF-5 cannot hold: the check below names them")
	}
	add("Records", chart.Count(r.Records()))
	add("As netCDF file", cli.HumanBytes(set.Canonical().Size()))
	add("Committed", set.ModTime().UTC().Format("2006-01-02 15:04:05")+" UTC")
	return out
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return chart.Count(n) + " " + noun + "s"
}

// dimNames formats the dimensions of a variable as in CDL.
func dimNames(s *blob.Schema, v *blob.Variable) string {
	var names []string
	for _, id := range v.Dims {
		names = append(names, fault.Printable(s.Dims()[id].Name))
	}
	return strings.Join(names, ", ")
}

func text(atts []cdf5.Att, name string) string {
	if a := cdf5.FindAtt(atts, name); a != nil {
		if t, ok := a.Value.(string); ok {
			return attText(t)
		}
	}
	return ""
}

// attText makes an attribute safe for a page.
func attText(s string) string {
	const most = 2000
	s = strings.TrimRight(s, "\x00")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " ..."
	}
	return fault.Printable(s)
}

func attRows(atts []cdf5.Att) (out []attRow) {
	for i := range atts {
		a := &atts[i]
		t, ok := a.Value.(string)
		if !ok {
			t = strings.Trim(fmt.Sprint(a.Value), "[]")
		}
		out = append(out, attRow{fault.Printable(a.Name), attText(t)})
	}
	return out
}
