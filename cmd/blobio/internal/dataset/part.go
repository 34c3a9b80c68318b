package dataset

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/cli"
	"blobio/internal/view/cf"
)

// partFlags select variables and parts of dimensions.
type partFlags struct {
	vars  []string
	dims  []string
	alone bool
}

// dimHelp explains selections in the help of verbs that support them.
const dimHelp = `-d NAME,MIN[,MAX[,STRIDE]] selects a hyperslab, as in ncks. Whole numbers are indices from
0; negative indices count from the end. Numbers with a decimal point, and dates, are values
of the coordinate variable. Both limits are included. Either limit may be omitted: lev,60,
has no upper limit. MIN alone selects one element. If MIN is a value, the nearest element is
selected. If MIN is greater than MAX, the range wraps around, as for longitudes. -d may be
repeated; the selections of one dimension are joined. NAME may also be a variable along one
dimension, such as the lat of columns. Then -d selects the elements with values in the
range.`

func (p *partFlags) add(cmd *cobra.Command, varsUsage string) {
	varsFlag(cmd, &p.vars, "v", varsUsage)
	fl := cmd.Flags()
	fl.StringArrayVarP(&p.dims, "dimension", "d", nil, "`PART` of a dimension: NAME,MIN[,MAX[,STRIDE]] in indices, or in values with a decimal point (repeatable)")
	_ = cmd.RegisterFlagCompletionFunc("dimension", completeDims)
}

// addAlone adds the flag that leaves out coordinates.
func (p *partFlags) addAlone(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&p.alone, "no-coords", "C", false, "omit the coordinates of the variables of --vars")
}

// given reports whether the flags select a part.
func (p *partFlags) given() bool { return len(p.dims) > 0 || p.alone }

// choose returns the selected variables (nil: all) and the selection along dimensions.
func (p *partFlags) choose(ctx context.Context, r *blob.Reader) (vars []string, sub blob.Subset, err error) {
	if p.alone && len(p.vars) == 0 {
		return nil, nil, cli.Usagef("--no-coords needs --vars")
	}
	if err := checkVars(r, p.vars); err != nil {
		return nil, nil, err
	}
	vars = p.vars
	if len(vars) > 0 && !p.alone {
		vars = cf.WithCoordinates(r.Schema(), vars)
	}
	sub, err = p.subset(ctx, r)
	return vars, sub, err
}

// subset returns the selection along dimensions.
func (p *partFlags) subset(ctx context.Context, r *blob.Reader) (sub blob.Subset, err error) {
	if sub, err = cf.Subset(ctx, r, p.dims); errors.Is(err, blob.ErrUsage) {
		err = cli.AsUsage(err)
	}
	return sub, err
}

// completeDims completes the names of dimensions.
func completeDims(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) == 0 {
		return nil, none
	}
	r, err := blob.Open(cmd.Context(), args[0], &blob.OpenOptions{AllowMissing: true})
	if err != nil {
		return nil, none
	}
	defer r.Close()
	var out []string
	for _, d := range r.Schema().Dims() {
		out = append(out, d.Name+",")
	}
	return out, none | cobra.ShellCompDirectiveNoSpace
}
