package crashtest

import (
	"hash/fnv"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"
)

// EnvSeed is the variable with a number that selects other samples.
const EnvSeed = "BLOBIO_SEED"

// Some returns n of the cases, or all if Long or if the test runs in Places. The choice depends on BLOBIO_SEED and the name of
// the test, so that tests with a common table use different cases.
func Some[T any](t testing.TB, n int, all []T) []T {
	if Long() || Places() != nil || n >= len(all) {
		return all
	}
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	seed, _ := strconv.ParseInt(os.Getenv(EnvSeed), 10, 64)
	drawn := rand.New(rand.NewSource(int64(h.Sum64()) + seed)).Perm(len(all))[:n]
	slices.Sort(drawn)
	some := make([]T, n)
	for i, k := range drawn {
		some[i] = all[k]
	}
	return some
}

// SomeOf is Some for named cases.
func SomeOf[T any](t testing.TB, n int, all map[string]T) map[string]T {
	some := map[string]T{}
	for _, name := range Some(t, n, slices.Sorted(maps.Keys(all))) {
		some[name] = all[name]
	}
	return some
}
