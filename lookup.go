package braid

import "github.com/braidmq/braid/driver"

// A text that no job, queue or schedule can have is not looked up in the store, so that
// the answer is the same whatever the store: an id or a schedule's key is unknown, and
// what filters by a name or a queue is refused.

// canBeID reports whether a job can have the id.
func canBeID(id string) bool { return driver.CheckText("id", id, driver.MaxIDBytes) == nil }

// canBeKey reports whether a schedule can have the key.
func canBeKey(key string) bool {
	return driver.CheckText("schedule key", key, driver.MaxKeyBytes) == nil
}

// canBeToken reports whether a job can have been leased under the token.
func canBeToken(token string) bool { return driver.CheckText("token", token, driver.MaxIDBytes) == nil }

// answerIDs asks for those of the ids that a job can have, and answers all of them,
// position by position; the others get the answer of unknown ones.
func answerIDs[A any](ids []string, unknown A, ask func(ids []string) ([]A, error)) ([]A, error) {
	first := 0
	for first < len(ids) && canBeID(ids[first]) {
		first++
	}
	if first == len(ids) {
		return ask(ids)
	}
	known, position := make([]string, 0, len(ids)), make([]int, 0, len(ids))
	answers := make([]A, len(ids))
	for i, id := range ids {
		answers[i] = unknown
		if canBeID(id) {
			known, position = append(known, id), append(position, i)
		}
	}
	if len(known) == 0 {
		return answers, nil
	}
	found, err := ask(known)
	if err != nil {
		return nil, err
	}
	for n, answer := range found {
		answers[position[n]] = answer
	}
	return answers, nil
}

// checkFilter refuses a name of a filter that nothing can have; empty is any.
func checkFilter(field, name string) error {
	if name == "" {
		return nil
	}
	return driver.CheckText(field, name, driver.MaxNameBytes)
}

// checkFilters is checkFilter for pairs of field and name.
func checkFilters(pairs ...[2]string) error {
	for _, pair := range pairs {
		if err := checkFilter(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}
