package scrtools

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"blobio/internal/base/fault"
	"blobio/internal/cli"
	"blobio/internal/scr/hostlist"
)

type scrHostlistFlags struct {
	expand, count, sort, union bool
	nth                        int
	minus, intersection        string
	sep                        string
	asJSON                     bool
}

func newScrHostlist(e *cli.Env) *cobra.Command {
	var f scrHostlistFlags
	cmd := &cobra.Command{
		Use:   "hostlist [LIST...]",
		Short: "Expand, compress, count and combine lists of hosts",
		Long: `Expand, compress, count and combine lists of hosts in the format of resource managers:
atlas[3,5-7] is atlas3 atlas5 atlas6 atlas7. A LIST may be compressed or not, with commas or
blanks between hosts. Without a LIST, or for "-", standard input is read. Several LISTs are
concatenated.

The output is the compressed form, unless --expand, --count or --nth is given. The compressed
form is sorted; the other forms keep the order. Duplicates remain, unless --sort or --union is
given.

Exit codes: 0 good, 1 --nth is beyond the list, 2 could not run.

With --nth, JSON is {host}.`,
		Example: `  blobio scr hostlist atlas3 atlas5 atlas6 atlas7             # atlas[3,5-7]
  blobio scr hostlist --expand 'atlas[3,5-7]'                 # one on a line
  blobio scr hostlist --expand --separator , 'atlas[3,5-7]'   # for mpirun --host
  blobio scr hostlist --count "$SLURM_JOB_NODELIST"
  blobio scr hostlist --nth 1 'atlas[3,5-7]'                  # atlas3; --nth -1 is the last
  blobio scr hostlist --minus 'atlas[3,5-7]:atlas[5,7]'       # in the first, not in the second
  blobio scr hostlist --intersection 'atlas[3,5-7]:atlas[1-6]'
  blobio scr hostlist --union 'atlas[3,5]' 'atlas[5-7]'       # each once
  hostname | blobio scr hostlist`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	fl := cmd.Flags()
	fl.BoolVarP(&f.expand, "expand", "e", false, "print every host, one per line")
	fl.BoolVarP(&f.count, "count", "c", false, "print the number of hosts")
	fl.IntVar(&f.nth, "nth", 0, "print the `N`-th host, from 1; negative numbers count from the end")
	fl.StringVarP(&f.minus, "minus", "m", "", "print hosts of A that are not in B: `A:B`")
	fl.StringVarP(&f.intersection, "intersection", "i", "", "print hosts of A that are also in B: `A:B`")
	fl.BoolVarP(&f.union, "union", "u", false, "print each host once")
	fl.BoolVar(&f.sort, "sort", false, "sort hosts by machine and number")
	fl.StringVar(&f.sep, "separator", "\n", "--expand: separator of hosts")
	fl.Lookup("separator").DefValue = "newline"
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"compressed": "", "count": 0, "hosts": []string{}})
	return cmd
}

func (f *scrHostlistFlags) run(cmd *cobra.Command, e *cli.Env, args []string) error {
	if _, err := onlyOne(cmd, "expand", "count", "nth", "json"); err != nil && !(f.asJSON && cmd.Flags().Changed("nth")) {
		return err
	}
	pair, err := onlyOne(cmd, "minus", "intersection")
	switch {
	case err != nil:
		return err
	case cmd.Flags().Changed("separator") && !f.expand:
		return cli.Usagef("--separator needs --expand")
	case cmd.Flags().Changed("nth") && f.nth == 0:
		return cli.Usagef("--nth 0, want 1 for the first host, -1 for the last")
	case pair != "" && len(args) > 0:
		return cli.Usagef("--%s contains both lists, but argument %q is one too many", pair, args[0])
	}
	var hosts []string
	switch pair {
	case "minus":
		hosts, err = f.pair(pair, f.minus, hostlist.Diff)
	case "intersection":
		hosts, err = f.pair(pair, f.intersection, hostlist.Intersect)
	default:
		hosts, err = readHosts(cmd, args)
	}
	if err != nil {
		return err
	}
	if f.union {
		hosts = hostlist.Union(hosts)
	}
	if f.sort {
		hosts = hostlist.Sort(hosts)
	}
	return f.print(e, hosts)
}

// pair combines two lists given as A:B.
func (f *scrHostlistFlags) pair(name, text string, do func(a, b []string) []string) ([]string, error) {
	left, right, ok := strings.Cut(text, ":")
	if !ok || strings.Contains(right, ":") {
		return nil, cli.Usagef("--%s %q, want two lists with a colon between them, A:B", name, text)
	}
	a, err := expandHosts(left)
	if err != nil {
		return nil, err
	}
	b, err := expandHosts(right)
	if err != nil {
		return nil, err
	}
	return do(a, b), nil
}

// maxHostText limits the bytes read from standard input.
const maxHostText = 64 << 20

// readHosts returns the hosts from the arguments or standard input.
func readHosts(cmd *cobra.Command, args []string) (hosts []string, err error) {
	if len(args) == 0 {
		if in, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(in.Fd())) {
			return nil, cli.Usagef("%s needs a list of hosts, as an argument or on standard input", cmd.CommandPath())
		}
		args = []string{"-"}
	}
	for _, text := range args {
		if text == "-" {
			b, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxHostText+1))
			if err != nil {
				return nil, fmt.Errorf("standard input: %w", err)
			}
			if len(b) > maxHostText {
				return nil, fmt.Errorf("standard input: more than %s", cli.HumanBytes(maxHostText))
			}
			text = string(b)
		}
		more, err := expandHosts(text)
		if err != nil {
			return nil, err
		}
		if hosts = append(hosts, more...); len(hosts) > hostlist.MaxHosts {
			return nil, fmt.Errorf("more than %d hosts", hostlist.MaxHosts)
		}
	}
	return hosts, nil
}

func expandHosts(text string) ([]string, error) {
	hosts, err := hostlist.Expand(text)
	var bad *hostlist.SyntaxError
	if errors.As(err, &bad) && errors.Is(err, fault.ErrUsage) {
		return nil, cli.AsUsage(err)
	}
	return hosts, err
}

func (f *scrHostlistFlags) print(e *cli.Env, hosts []string) error {
	switch {
	case f.nth != 0:
		host, ok := hostlist.Nth(hosts, f.nth)
		if !ok {
			e.Code = cli.Findings
			e.Out.Flush()
			fmt.Fprintf(e.Stderr, "blobio: no host %d: the list %s\n", f.nth, areHosts(len(hosts)))
			if !f.asJSON {
				return nil
			}
		}
		if f.asJSON {
			return e.PrintJSON(map[string]any{"host": host})
		}
		fmt.Fprintln(e.Out, host)
	case f.asJSON:
		return e.PrintJSON(map[string]any{"compressed": hostlist.Compress(hosts), "count": len(hosts), "hosts": append([]string{}, hosts...)})
	case f.count:
		fmt.Fprintln(e.Out, len(hosts))
	case len(hosts) == 0: // print nothing instead of an empty line
	case f.expand:
		fmt.Fprintln(e.Out, strings.Join(hosts, f.sep))
	default:
		fmt.Fprintln(e.Out, hostlist.Compress(hosts))
	}
	return nil
}

func areHosts(n int) string {
	if n == 1 {
		return "has 1 host"
	}
	return fmt.Sprintf("has %d hosts", n)
}
