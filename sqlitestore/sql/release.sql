RELEASE braid_call;
