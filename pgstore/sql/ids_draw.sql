SELECT nextval(@'ids');
