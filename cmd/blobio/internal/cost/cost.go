package cost

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

type costFlags struct {
	file     string
	cadences []string
	errors   string
	asJSON   bool
}

func New(e *cli.Env) *cobra.Command {
	var f costFlags
	cmd := &cobra.Command{
		Use:   "cost",
		Short: "Compute which levels of an AMR run to save, and how often",
		Long: `Compute the cost of saving the levels of a subcycled AMR run and of recovering from errors.
The cost of one coarse step is T_save + T_lost + T_reconfig. T_save is the time to save the
versions that the cadence asks for. T_lost is the time to repeat steps and to save their
versions again. T_reconfig is the time to reconfigure the levels for a rollback. A cadence
lists the save interval of each level, coarsest level first, in steps of that level; 0 means
never. The output compares each cadence with the first one: the break-even point is the error
rate, in errors per coarse step, above which the other cadence costs less. The output also
shows the best cadence at each error rate of --errors.

The input numbers come from the paper on recovery of Chombo with GVR (4 levels, 512 cores),
or from the JSON file of --model:

  {"levels": 4, "ratio": 2, "put": [1.37, 1.37, 1.37, 1.37], "step": [1.82, 2.86, 3.03, 3.16],
   "box": 0.0081, "reconfig": 1.58, "alloc": 0.61, "commit": 0, "latency": 0, "anywhere": false}

All times are in seconds. "put" is the time to save a version of each level. "step" is the
time to compute one step of each level; a single number applies to all levels. "box" is the
time to put or get one box. "reconfig" is the time to fetch and reconfigure levels for a
rollback. "alloc" is the time to allocate the arrays. "commit" is the time to commit a
snapshot, without its versions. By default an error is equally likely in each fine step.
With "anywhere", an error can occur in any step, with a probability proportional to the time
of the step.

"latency" is the number of fine steps between an error and its detection. Versions saved in
this time contain the error, so the run rolls back to an older version. The output then shows
how many versions and snapshots to keep.

In JSON, lost, reconfig and total of a cadence are for one error in the last fine step. null
means that there is no break-even point.`,
		Example: `  blobio cost                                       # with the numbers of the paper
  blobio cost --cadence 1,0,0,0 --cadence 1,1,2,4 --cadence 1,1,1,1
  blobio cost --model mine.json --errors 0.01,0.1,1
  blobio cost --json | jq '.break_even[0].random'`,
		Args: cli.MaxArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(e)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.file, "model", "", "`FILE` of JSON with the numbers")
	fl.StringArrayVarP(&f.cadences, "cadence", "c", nil, "cadence such as 1,1,2,4 (repeatable; default: level 0 only, and all levels at every step)")
	fl.StringVar(&f.errors, "errors", "0.01,0.1,0.5,1,2", "error rates to compare, in errors per coarse step")
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"model": costModel{}, "paper": true, "cadences": []*costRow{}, "best": []costBest{}, "break_even": []costEven{}, "keep": []costKeep{}})
	_ = cmd.MarkFlagFilename("model", "json")
	return cmd
}

// The JSON output types for the costs of cadences.
type (
	costRow struct {
		Cadence  []int          `json:"cadence"`
		Scope    string         `json:"scope"`
		Alloc    float64        `json:"alloc"`
		Save     float64        `json:"save"`
		Lost     float64        `json:"lost"`
		Reconfig float64        `json:"reconfig"`
		Total    float64        `json:"total"`
		Expected []costExpected `json:"expected"`

		planner *recovery.Planner
		mean    recovery.Cost // cost of one error at a random step, without the cost of saving versions
	}
	costExpected struct {
		Errors   float64 `json:"errors"`
		Lost     float64 `json:"lost"`
		Reconfig float64 `json:"reconfig"`
		Total    float64 `json:"total"`
	}
	costBest struct {
		Errors  float64 `json:"errors"`
		Cadence []int   `json:"cadence"`
		Total   float64 `json:"total"`
	}
	costEven struct {
		From   []int    `json:"from"`
		To     []int    `json:"to"`
		Last   *float64 `json:"last"`
		Random *float64 `json:"random"`
	}
)

func (f *costFlags) run(e *cli.Env) error {
	cm, err := readCostModel(f.file)
	if err != nil {
		return err
	}
	m := cm.model()
	rates, err := parseRates(f.errors)
	if err != nil {
		return err
	}
	rows, err := f.rows(m, rates)
	if err != nil {
		return err
	}
	evens, err := breakEvens(m, rows)
	if err != nil {
		return err
	}
	best, paper := []costBest{}, f.file == ""
	if m.CanTry() {
		for _, r := range rates {
			c, cost, err := m.BestCadence(r)
			if err != nil {
				return err
			}
			best = append(best, costBest{r, c, cost.Total()})
		}
	}
	keeps, err := retentions(m, rows)
	if err != nil {
		return err
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"model": cm, "paper": paper, "cadences": rows, "best": best, "break_even": evens, "keep": keeps})
	}
	f.print(e, m, paper, rates, rows, best, evens)
	printRetentions(e, m, keeps)
	return nil
}

// rows returns the costs of the cadences.
func (f *costFlags) rows(m *recovery.Model, rates []float64) ([]*costRow, error) {
	sub := m.Subcycling()
	list := []versioned.Cadence{make(versioned.Cadence, sub.Levels), slices.Repeat(versioned.Cadence{1}, sub.Levels)}
	list[0][0] = 1
	if sub.Levels == 1 {
		list = list[:1]
	}
	if len(f.cadences) > 0 {
		list = nil
	}
	for _, s := range f.cadences {
		var c versioned.Cadence
		for _, p := range strings.Split(s, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(p))
			if err != nil || n < 0 {
				return nil, cli.Usagef("--cadence %q, want a number for each level, as in 1,1,2,4", s)
			}
			c = append(c, n)
		}
		if len(c) != sub.Levels {
			return nil, cli.Usagef("--cadence %q has %s, want %d, one for each level", s, cli.Plural(len(c), "number"), sub.Levels)
		}
		if c[0] != 1 {
			return nil, cli.Usagef("--cadence %q: the interval of level 0 must be 1, because the model covers one coarse step", s)
		}
		list = append(list, c)
	}
	last := versioned.Step{Level: sub.Levels - 1, Index: sub.Steps(sub.Levels-1) - 1}
	var rows []*costRow
	for _, c := range list {
		p := &recovery.Planner{Subcycling: sub, Cadence: c}
		n := int64(sub.Steps(last.Level))
		found := n - 1 + int64(math.Ceil(min(m.Latency, float64(n)))) // beyond n steps, a longer latency does not change the cost
		plan, err := p.Late(recovery.Moment{Coarse: found / n, Step: versioned.Step{Level: last.Level, Index: int(found % n)}}, recovery.Moment{Step: last})
		if err != nil {
			return nil, err
		}
		cost, err := m.Cost(p, last)
		if err != nil {
			return nil, err
		}
		r := &costRow{Cadence: c, Scope: plan.Scope.String(), Alloc: cost.Alloc, Save: cost.Save, Lost: cost.Lost, Reconfig: cost.Reconfig, Total: cost.Total(), planner: p}
		if r.mean, err = m.Expected(p, 1); err != nil {
			return nil, err
		}
		for _, n := range rates {
			x, err := m.Expected(p, n)
			if err != nil {
				return nil, err
			}
			r.Expected = append(r.Expected, costExpected{n, x.Lost, x.Reconfig, x.Total()})
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// breakEvens compares each cadence with the first one.
func breakEvens(m *recovery.Model, rows []*costRow) ([]costEven, error) {
	out := []costEven{}
	for _, r := range rows[1:] {
		x := costEven{From: rows[0].Cadence, To: r.Cadence}
		for _, v := range []struct {
			last bool
			to   **float64
		}{{true, &x.Last}, {false, &x.Random}} {
			p, err := m.BreakEven(rows[0].planner, r.planner, v.last)
			if err != nil {
				return nil, err
			}
			*v.to = cli.Finite(p)
		}
		out = append(out, x)
	}
	return out, nil
}

func cadenceText(c []int) string {
	s := make([]string, len(c))
	for i, n := range c {
		s[i] = strconv.Itoa(n)
	}
	return strings.Join(s, ",")
}

// secText formats seconds with about four digits.
func secText(x float64) string {
	if x >= 1 || x == 0 {
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

const paperRemark = `The numbers come from the paper on recovery of Chombo with GVR (512 cores). For saving all
levels, the paper prints 20.55 s, and 23.72 s in total. Its own formula gives 21.16 s and
24.33 s, because the formula includes the allocation of 0.61 s. The table here includes the
allocation in both rows.
`

func (f *costFlags) print(e *cli.Env, m *recovery.Model, paper bool, rates []float64, rows []*costRow, best []costBest, evens []costEven) {
	sub := m.Subcycling()
	if paper {
		fmt.Fprint(e.Out, paperRemark, "\n")
	}
	fmt.Fprintf(e.Out, "%s of ratio %d; compute %s s per coarse step, allocation %s s, reconfiguration %s s, one box %s s", cli.Plural(sub.Levels, "level"), sub.Ratio,
		secText(m.StepTime()), secText(m.Alloc), secText(m.Reconfig), secText(m.Box))
	if m.Latency > 0 {
		fmt.Fprintf(e.Out, ", errors are detected %s fine steps later", cli.NumberText(m.Latency))
	}
	fmt.Fprint(e.Out, "\n\n")
	t := e.NewTable("", ">LEVEL", ">STEPS", ">STEP s", ">SAVE s")
	for l := range sub.Levels {
		t.Row(l, sub.Steps(l), secText(m.Step[l]), secText(m.Put[l]))
	}
	t.Flush()

	fmt.Fprint(e.Out, "\nA coarse step with one error in its last fine step, seconds:\n\n")
	t = e.NewTable("", "CADENCE", ">ALLOC", ">SAVE", ">LOST", ">RECONFIG", ">TOTAL", "ROLLS BACK", ">SAVING IS")
	for _, r := range rows {
		part := "-"
		if all := m.StepTime(); all > 0 {
			part = fmt.Sprintf("%.1f %%", 100*r.Save/all)
		}
		t.Row(cadenceText(r.Cadence), secText(r.Alloc), secText(r.Save), secText(r.Lost), secText(r.Reconfig), secText(r.Total), r.Scope, part)
	}
	t.Flush()

	where := "a random fine step"
	if m.Anywhere {
		where = "a random step of any level"
	}
	fmt.Fprintf(e.Out, "\nExpected seconds per coarse step for saving and for errors in %s, by errors per coarse step:\n\n", where)
	heads := []string{"CADENCE"}
	for _, n := range rates {
		heads = append(heads, ">"+cli.NumberText(n))
	}
	t = e.NewTable("", heads...)
	for _, r := range rows {
		row := []any{cadenceText(r.Cadence)}
		for _, x := range r.Expected {
			row = append(row, secText(x.Total))
		}
		t.Row(row...)
	}
	if len(best) > 0 {
		row, is := []any{"the best"}, []any{"  which is"}
		for _, b := range best {
			row, is = append(row, secText(b.Total)), append(is, cadenceText(b.Cadence))
		}
		t.Row(row...)
		t.Row(is...)
	}
	t.Flush()
	fmt.Fprintln(e.Out)
	for i, x := range evens {
		to, from := cadenceText(x.To), cadenceText(x.From)
		say := func(p *float64, last bool) string {
			where, ca, cb := where, rows[0].Save, rows[i+1].Save
			la, lb := rows[0].mean.Lost+rows[0].mean.Reconfig, rows[i+1].mean.Lost+rows[i+1].mean.Reconfig
			if last {
				where = "the last fine step"
				la, lb = rows[0].Lost+rows[0].Reconfig, rows[i+1].Lost+rows[i+1].Reconfig
			}
			switch {
			case p != nil && lb < la:
				return fmt.Sprintf("%s costs less than %s from %.4g errors per coarse step on, in %s", to, from, *p, where)
			case p != nil:
				return fmt.Sprintf("%s costs less than %s up to %.4g errors per coarse step, in %s", to, from, *p, where)
			case cb < ca || cb == ca && lb < la:
				return fmt.Sprintf("%s never costs more than %s, with errors in %s", to, from, where)
			case cb == ca && lb == la:
				return fmt.Sprintf("%s costs as much as %s, with errors in %s", to, from, where)
			}
			return fmt.Sprintf("%s never costs less than %s, with errors in %s", to, from, where)
		}
		fmt.Fprintln(e.Out, say(x.Last, true))
		fmt.Fprintln(e.Out, say(x.Random, false))
	}
}
