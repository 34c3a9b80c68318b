package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

var numberError = regexp.MustCompile(`: strconv\.\w+: parsing "(?:[^"\\]|\\.)*": (invalid syntax|value out of range)$`)

// FlagError rewrites the error of a flag that wants a number in plain words.
func FlagError(err error) error {
	msg := numberError.ReplaceAllStringFunc(err.Error(), func(s string) string {
		if strings.HasSuffix(s, "range") {
			return ", the number is out of range"
		}
		return ", want a number"
	})
	return errors.New(msg)
}

// AsGroup makes cmd a group, which only has subcommands.
func AsGroup(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		msg := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
		if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
			msg += ", did you mean " + strings.Join(s, " or ") + "?"
		}
		return AsUsage(errors.New(msg))
	}
	cmd.SuggestionsMinimumDistance = 2
}

// NotGiven returns an error if any of the flags was given. The text is "--name why", with the name of
// the first given flag.
func NotGiven(cmd *cobra.Command, why string, names ...string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return Usagef("--%s %s", name, why)
		}
	}
	return nil
}

// MinArgs requires n arguments or more. what names the arguments in the error, as in the synopsis.
func MinArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return Usagef("%s needs %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// ExactArgs requires exactly n arguments.
func ExactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return Usagef("%s needs %s", cmd.CommandPath(), what)
		}
		if len(args) > n {
			return Usagef("%s needs %s, but argument %q is one too many", cmd.CommandPath(), what, args[n])
		}
		return nil
	}
}

// MaxArgs allows no more than n arguments.
func MaxArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return Usagef("%s needs %s, but argument %q is one too many", cmd.CommandPath(), what, args[n])
		}
		return nil
	}
}
