// A provider of OpenID Connect on loopback, with its own pages to sign in: whoever comes is let in by name, and Grace is
// of the group `sre`. Claims are told in userinfo only, as this provider does where nobody says otherwise.
// Its one argument is where browsers are sent back to; it prints its issuer.
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'serin',
      client_secret: 'a-secret-of-the-provider',
      redirect_uris: [process.argv[2]],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    }],
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    cookies: { keys: ['only', 'for', 'this', 'test'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: `${id}@example.org`,
        email_verified: true,
        groups: id === 'grace' ? ['sre'] : ['sales'],
      }),
    }),
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
