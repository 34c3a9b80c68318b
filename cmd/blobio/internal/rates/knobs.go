package rates

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"blobio/blob"
	"blobio/internal/bench"
	"blobio/internal/cli"
)

// knobFlags are flags for the options of the library's writers and readers.
type knobFlags struct{ list []knobFlag }

// knobFlag is the value of one flag.
type knobFlag struct {
	bench.Knob
	text  string // in the format of Knob.Set
	given *pflag.Flag
}

func (v *knobFlag) String() string {
	if v == nil || v.text == "0" || v.Kind == bench.SwitchKnob {
		return ""
	}
	return v.text
}

func (v *knobFlag) Type() string {
	return map[bench.KnobKind]string{bench.NumberKnob: "int", bench.SizeKnob: "size", bench.WordKnob: "word", bench.SwitchKnob: "bool"}[v.Kind]
}

func (v *knobFlag) Set(s string) (err error) {
	if s, err = knobText(&v.Knob, s); err == nil {
		err = v.Knob.Set(new(bench.Settings), s)
	}
	v.text = s
	return err
}

// knobText converts a user's text to the format of Knob.Set.
func knobText(k *bench.Knob, s string) (string, error) {
	switch k.Kind {
	case bench.SizeKnob:
		n, err := cli.ParseBytes(s)
		return strconv.FormatInt(n, 10), err
	case bench.SwitchKnob:
		if on, err := strconv.ParseBool(s); err == nil {
			s = map[bool]string{true: "yes", false: "no"}[on]
		}
	}
	return s, nil
}

// add adds the flags that cmd lacks.
func (f *knobFlags) add(cmd *cobra.Command) {
	for _, k := range bench.Knobs() {
		f.list = append(f.list, knobFlag{Knob: k, text: k.Def})
	}
	for i := range f.list {
		v := &f.list[i]
		if cmd.Flags().Lookup(v.Name) != nil {
			continue
		}
		v.given = cmd.Flags().VarPF(v, v.Name, "", v.Usage)
		if v.Kind == bench.SwitchKnob {
			v.given.NoOptDefVal = "true"
		}
		if v.Kind == bench.WordKnob {
			_ = cmd.RegisterFlagCompletionFunc(v.Name, cobra.FixedCompletions(v.Words, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// set sets the options from the flags.
func (f *knobFlags) set(w *blob.Options, r *blob.OpenOptions) error {
	s := bench.Settings{Write: *w, Read: *r}
	for i := range f.list {
		if v := &f.list[i]; v.given != nil {
			if err := v.Knob.Set(&s, v.text); err != nil {
				return cli.AsUsage(fmt.Errorf("--%s: %w", v.Name, err))
			}
		}
	}
	*w, *r = s.Write, s.Read
	if err := w.Validate(); err != nil {
		return cli.AsUsage(err)
	}
	if err := r.Validate(); err != nil {
		return cli.AsUsage(err)
	}
	return nil
}
