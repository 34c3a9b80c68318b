package manual

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"blobio/internal/base/durable"
	"blobio/internal/base/manpage"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

func NewMan(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all verbs",
		Long: `Write a manual page for each verb into a directory: blobio.1, blobio-ls.1, blobio-scr-check.1
and so on. The directory is created if needed. Existing pages are replaced. The text is the
output of --help. The date of the pages is SOURCE_DATE_EPOCH (seconds since 1970) from the
environment, or else today.

Packages include the pages. This verb is for a command that was built from source or copied.`,
		Example: `  blobio man ~/.local/share/man/man1 && man blobio-convert`,
		Args:    cli.ExactArgs(1, "a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			list := pages(cmd.Root())
			if err := durable.MkdirAll(vfs.OS, args[0], false); err != nil {
				return err
			}
			names := make([]string, len(list))
			for i, p := range list {
				names[i] = filepath.Join(args[0], p.File())
			}
			done, err := cli.WriteFiles(cmd.Context(), names, true, func(k int, w io.Writer) error {
				_, err := list[k].WriteTo(w)
				return err
			})
			if err == nil {
				fmt.Fprintf(e.Out, "%s: %s\n", args[0], cli.Plural(len(done), "manual page"))
			}
			return err
		},
	}
}

// pages returns the pages of a command and of all its subcommands.
func pages(c *cobra.Command) []*manpage.Page {
	list := []*manpage.Page{page(c)}
	for _, sub := range verbs(c) {
		list = append(list, pages(sub)...)
	}
	return list
}

// verbs returns the direct subcommands that the help lists.
func verbs(c *cobra.Command) (list []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			list = append(list, sub)
		}
	}
	return list
}

func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func page(c *cobra.Command) *manpage.Page {
	cli.Describe(c)
	p := manpage.New(name(c), 1, c.Short)
	p.Head("SYNOPSIS")
	use := c.UseLine()
	if subs := verbs(c); len(subs) > 0 {
		use = c.CommandPath() + " VERB ..."
	}
	p.Lines(true, use)
	p.Head("DESCRIPTION")
	p.Text(c.Long)
	if subs := verbs(c); len(subs) > 0 {
		p.Head("VERBS")
		for _, sub := range subs {
			p.Item(sub.Name(), "", sub.Short)
		}
	}
	flags(p, "OPTIONS", c.NonInheritedFlags())
	flags(p, "OPTIONS OF ALL VERBS", c.InheritedFlags())
	if c.Example != "" {
		p.Head("EXAMPLES")
		p.Text(c.Example)
	}
	p.Head("EXIT STATUS")
	p.Text("0 good, 1 findings or differences, 2 could not run.")
	var also []string
	if c.HasParent() {
		also = append(also, name(c.Parent()))
	}
	for _, sub := range verbs(c) {
		also = append(also, name(sub))
	}
	slices.Sort(also)
	p.SeeAlso(also...)
	return p
}

// flags adds the flags that the help shows.
func flags(p *manpage.Page, head string, set *pflag.FlagSet) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		if head != "" {
			p.Head(head)
			head = ""
		}
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		value, usage := pflag.UnquoteUsage(f)
		if f.NoOptDefVal != "" && value != "" {
			term, value = term+"[="+value+"]", ""
		}
		p.Item(term, value, usage+defaultOf(f))
	})
}

// defaultOf returns the help's text for the default value, unless the value is zero.
func defaultOf(f *pflag.Flag) string {
	if slices.Contains([]string{"", "0", "false", "[]", "0s"}, f.DefValue) {
		return ""
	}
	if f.Value.Type() == "string" {
		return fmt.Sprintf(" (default %q)", f.DefValue)
	}
	return " (default " + f.DefValue + ")"
}
