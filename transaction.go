package braid

import (
	"context"
	"encoding/json"

	"github.com/braidmq/braid/driver"
)

// TxClient enqueues inside a transaction of yours: with its rollback nothing has
// happened, with its commit the workers wake. It lives as long as the transaction.
type TxClient struct{ enqueueTarget }

// Tx returns the client inside a transaction, as the store's package wraps it. Pass
// it to [Job.Enqueue] and [Job.EnqueueMany] in the client's place. A store that
// cannot do this is an error of the enqueue.
func (c *Client) Tx(tx driver.Tx) *TxClient { return &TxClient{enqueueTarget{client: c, tx: &tx}} }

func (t *TxClient) target() enqueueTarget {
	if t == nil {
		return enqueueTarget{}
	}
	return t.enqueueTarget
}

// EnqueueMany is [Client.EnqueueMany] inside the transaction.
func (t *TxClient) EnqueueMany(ctx context.Context, requests ...Request) ([]*Handle[json.RawMessage], error) {
	return enqueueRequests(ctx, t.target(), requests)
}
