package cli

import "github.com/spf13/cobra"

// List calls look for each path and prints the result. With JSON it prints all results as the list named key.
func List[T any](cmd *cobra.Command, e *Env, paths []string, asJSON bool, key string, look func(path string) (T, error), print func(T)) error {
	all := []T{}
	err := e.Each(cmd, paths, func(path string) (func() error, error) {
		x, err := look(path)
		if err != nil {
			return nil, err
		}
		if all = append(all, x); asJSON {
			return nil, nil
		}
		return func() error { print(x); return nil }, nil
	})
	if err == nil && asJSON {
		return e.PrintJSON(map[string]any{key: all})
	}
	return err
}
